"""Bodies of the requests and responses that form groups, in one shape for all APIs (GroupRequestBody,
GroupResponseBody), read from the message tables of a bucket.

Heartbeats that carry the whole protocol (KIP-848, KIP-932, KIP-1071) are frequent, and most change nothing: only the
relevant ones are read. `relevant_heartbeats` reads requests and responses side by side in time order, so that it holds
only requests in flight.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.row_types import arrow_type
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequestBody, GroupResponseBody
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_parsers.group_protocols import PROTOCOLS

REQUEST_BODY, RESPONSE_BODY = arrow_type(GroupRequestBody), arrow_type(GroupResponseBody)
_MESSAGES = {api: messages for protocol in PROTOCOLS for api, messages in protocol.messages.items()}
HEARTBEAT_APIS = tuple(api for api, messages in _MESSAGES.items() if messages.assignment)
"""APIs whose heartbeats carry the whole group protocol."""
MEMBERSHIP_APIS = tuple(api for api, messages in _MESSAGES.items() if not messages.assignment)
"""APIs of which every message is read."""


def request_bodies(read: MessageReader, api: str, wanted: pa.Array | None = None) -> pa.Table:
    """Returns columns request_id and body (REQUEST_BODY) of an API's requests; wanted: ids of the requests, None for
    all."""
    return _bodies(read, f"{api}/request", (REQUEST_BODY, _MESSAGES[api].request, ()), wanted, TopicNames.of({}))


def response_bodies(read: MessageReader, api: str, names: TopicNames, wanted: pa.Array | None = None) -> pa.Table:
    """Returns columns request_id and body (RESPONSE_BODY) of an API's responses; wanted: ids of the requests, None for
    all."""
    shape = (RESPONSE_BODY, _MESSAGES[api].response, _MESSAGES[api].assignment)
    return _bodies(read, f"{api}/response", shape, wanted, names)


_Shape = tuple[pa.StructType, Mapping[str, str], tuple[str, ...]]


def _bodies(read: MessageReader, message: str, shape: _Shape, wanted: pa.Array | None, names: TopicNames) -> pa.Table:
    kind, fields, assignment = shape
    tables = [pa.table({"request_id": pa.array([], pa.string()), "body": pa.array([], kind)})]
    for batch in read(message, ["request_id", *dict.fromkeys([*fields.values(), *assignment])]):
        rows = batch if wanted is None else batch.filter(pc.is_in(batch["request_id"], wanted))
        columns = {name: rows[column] for name, column in fields.items()}
        if assignment:
            columns |= _assignment(rows, assignment, names)
        arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(len(rows), f.type) for f in kind]
        body = pa.StructArray.from_arrays(arrays, fields=list(kind))
        tables.append(pa.table({"request_id": rows["request_id"], "body": body}))
    return pa.concat_tables(tables)


def _assignment(rows: pa.RecordBatch, columns: tuple[str, ...], names: TopicNames) -> dict[str, pa.Array]:
    """Returns the fields of an assignment in a heartbeat's response."""
    has_assignment = rows[columns[0]].is_valid()
    if len(columns) == 1:
        topics = pc.struct_field(rows[columns[0]], "topic_partitions")
        return {"has_assignment": has_assignment, "assigned_topics": _named(topics, names)}
    tasks = RESPONSE_BODY.field("standby_tasks").type
    return {"has_assignment": has_assignment, "standby_tasks": _joined([rows[c].cast(tasks) for c in columns[1:]])}


def _named(topics: pa.ListArray, names: TopicNames) -> pa.ListArray:
    """Returns lists of (topic_id, partitions) as lists of (topic, partitions)."""
    flat = pc.list_flatten(topics)
    ids = pc.struct_field(flat, "topic_id")
    named = pa.StructArray.from_arrays(
        [pc.coalesce(names.by_id(ids), ids), pc.struct_field(flat, "partitions")],
        ["topic", "partitions"],
    )
    return _lists(pc.fill_null(pc.list_value_length(topics), 0), named)


def _joined(lists: list[pa.ListArray]) -> pa.ListArray:
    """Concatenates the lists of each row."""
    parents = pa.concat_arrays([pc.list_parent_indices(one) for one in lists])
    values = pa.concat_arrays([pc.list_flatten(one) for one in lists])
    order = pc.array_sort_indices(parents)
    lengths = [pc.fill_null(pc.list_value_length(one), 0) for one in lists]
    total = lengths[0]
    for length in lengths[1:]:
        total = pc.add(total, length)
    return _lists(total, values.take(order))


def _lists(lengths: pa.Array, values: pa.Array) -> pa.ListArray:
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths.cast(pa.int32()))])
    return pa.ListArray.from_arrays(offsets, values)


_IN_FLIGHT = pa.schema([("request_id", pa.string()), ("epoch", pa.int32())])


def relevant_heartbeats(read: MessageReader, api: str) -> pa.Array:
    """Returns ids of the heartbeats of an API that change or show something: the member joins or leaves, sends its
    subscription or its owned partitions, gets an assignment or another epoch, or gets an error."""
    relevant: list[pa.Array] = [pa.array([], pa.string())]
    in_flight = {"request": _IN_FLIGHT.empty_table(), "response": _IN_FLIGHT.empty_table()}
    for direction, batch in _side_by_side(read, api):
        flags = _says_something(batch, api) if direction == "request" else _answers_something(batch, api)
        relevant.append(batch["request_id"].filter(flags))
        steady = batch.filter(pc.invert(flags))
        epochs = pa.table({"request_id": steady["request_id"], "epoch": steady["member_epoch"]}, schema=_IN_FLIGHT)
        in_flight[direction] = pa.concat_tables([in_flight[direction], epochs]).combine_chunks()
        relevant.append(_match(in_flight))
    return pc.unique(pa.concat_arrays(relevant))


def _side_by_side(read: MessageReader, api: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yields batches of requests and responses, each time from the side that is behind in time."""
    asked = ["member_epoch", *_MESSAGES[api].changes]
    sides = {
        "request": read(f"{api}/request", ["request_id", "ts_ns", *asked]),
        "response": read(
            f"{api}/response", ["request_id", "ts_ns", "member_epoch", "error_code", _MESSAGES[api].assignment[0]]
        ),
    }
    reached = dict.fromkeys(sides, 0)
    while sides:
        direction = min(sides, key=lambda name: reached[name])
        batch = next(sides[direction], None)
        if batch is None:
            del sides[direction]
        elif len(batch):
            reached[direction] = batch["ts_ns"][-1].as_py()
            yield direction, batch


def _says_something(batch: pa.RecordBatch, api: str) -> pa.Array:
    flags = pc.fill_null(pc.less_equal(batch["member_epoch"], 0), False)
    for name in _MESSAGES[api].changes:
        flags = pc.or_(flags, batch[name].is_valid())
    return flags


def _answers_something(batch: pa.RecordBatch, api: str) -> pa.Array:
    failed = pc.fill_null(pc.not_equal(batch["error_code"], 0), False)
    return pc.or_(failed, batch[_MESSAGES[api].assignment[0]].is_valid())


def _match(in_flight: dict[str, pa.Table]) -> pa.Array:
    """Removes matching requests and responses; returns the ids of those whose epochs differ."""
    requests, responses = in_flight["request"], in_flight["response"]
    if not requests.num_rows or not responses.num_rows:
        return pa.array([], pa.string())
    index = pc.index_in(responses["request_id"], requests["request_id"].combine_chunks())
    answered = responses.filter(index.is_valid())
    asked = requests.take(index.drop_null())
    differ = pc.fill_null(pc.not_equal(answered["epoch"], asked["epoch"]), False)
    in_flight["response"] = responses.filter(index.is_null())
    in_flight["request"] = requests.filter(
        pc.invert(pc.is_in(requests["request_id"], answered["request_id"].combine_chunks()))
    )
    return answered["request_id"].filter(differ).combine_chunks()
