"""Events as objects of their kinds' classes. Oracle: pyarrow's own conversion of the files to Python objects."""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, KINDS, RANKS
from kafkascope_spark.event_reader import EVENT_ROWS, with_bodies
from kafkascope_spark.stories.event_decoder import event_rows, shared_event
from kafkascope_spark.stories.stage_rows import BODY, packed, unpacked

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = ("captures/leader_move", "captures/txn", "service/frozen_broker")
ABSENT = {"request": {"response_ns"}, "group_request": {"request", "response", "response_ns"}}
"""What a class leaves out where there is no response, or gives an empty object."""


def plain(value: Any) -> Any:
    """Objects as dicts of their columns, tuples as lists."""
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in column_fields(type(value))}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def sample(name: str, kind: pa.DataType) -> Any:
    """A value of the type, as the reader gives it, which names its field."""
    if pa.types.is_list(kind):
        return (sample(name, kind.value_type),)
    if pa.types.is_struct(kind):
        return tuple(sample(f"{name}.{field.name}", field.type) for field in kind)
    return f"the {name}" if pa.types.is_string(kind) else name.encode() if pa.types.is_binary(kind) else len(name)


def as_dict(value: Any, kind: pa.DataType) -> Any:
    """A sample as pyarrow would give it."""
    if pa.types.is_list(kind):
        return [as_dict(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {field.name: as_dict(each, field.type) for field, each in zip(kind, value, strict=True)}
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_each_field_has_the_value_of_its_name(kind: str) -> None:
    values = {field.name: sample(field.name, field.type) for field in KINDS[kind]}
    if "status" in values:
        values["status"] = "ok"
    event = shared_event(kind, tuple(values.values()))
    assert type(event) is EVENT_CLASSES[kind]
    expected = {field.name: as_dict(values[field.name], field.type) for field in KINDS[kind]}
    assert {name: plain(getattr(event, name)) for name in expected} == expected


def events_of(dataset: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """The rows of the table as dicts, and the events that the decoder makes of them."""
    opened = Dataset.open(dataset)
    for file in opened.manifest.files["events"]:
        for batch in opened.row_groups("events", file.path, range(file.rows)):
            rows = with_bodies(batch)
            decoded = [event for _, event in event_rows(rows)]
            for row, event, body in zip(batch.to_pylist(), decoded, rows.column(BODY).to_pylist(), strict=True):
                yield row, event if event is not None else shared_event(row["kind"], unpacked(body))


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_events_of_a_capture_are_objects_with_their_values(capture: str, ingested: Callable[[Path], Path]) -> None:
    kinds = set()
    for row, event in events_of(ingested(FIXTURES / f"{capture}.pcap.zst")):
        kind, struct = row["kind"], row[row["kind"]]
        assert type(event) is EVENT_CLASSES[kind]
        may_differ = ABSENT.get(kind, set()) if struct.get("status") != "ok" or kind == "group_request" else set()
        for name in struct.keys() - may_differ:
            assert plain(getattr(event, name)) == (struct[name] if struct[name] is not None else none_of(event, name))
        if isinstance(event, ClientEvent):
            assert (event.conn_id, event.ts_ns) == (row["conn_id"], row["ts_ns"])
        if isinstance(event, ErrorRun) and event.n > 1:
            assert event.request is not None
            assert (event.request.request_id, event.request.ts_ns) == (event.request_id, row["request"]["ts_ns"])
        kinds.add(kind)
    assert kinds >= {"connection", "usage", "request", "error_run", "group_request", "fetch_slice"}


def none_of(event: Any, name: str) -> Any:
    """What stands for null: nothing, or an empty list."""
    return [] if getattr(event, name) == () else None


def test_a_response_that_could_not_be_read_is_none() -> None:
    values = {"status": "undecoded", "response_ns": 9, "ts_ns": 5, "response": {"member_id": "m"}}
    assert Request.of(values).response_ns is None
    assert Request.of(values | {"status": "ok"}).response_ns == 9
    group = GroupRequest.of({"status": "undecoded", "response_ns": 9, "error_name": "NOT_COORDINATOR"})
    assert (group.response_ns, group.error, group.ok, group.member) == (None, None, False, "")


def test_a_run_of_several_requests_has_the_first_of_them() -> None:
    run = ErrorRun.of({"request_id": "c1-1", "last_request_id": "c1-3", "n": 3, "last_ns": 11})
    first = Request.of({"request_id": "c1-1", "ts_ns": 5, "status": "ok"})
    body = (*(getattr(run, name) for name in ErrorRun.KIND.names), tuple(getattr(first, n) for n in Request.KIND.names))
    keys = {"cluster": "k", "key_kind": "client", "key": "10.0.0.1", "client_ip": "10.0.0.1", "section": 1, "ts_ns": 9}
    keys |= {"rank": RANKS["error_run"], "packet_no": 0, "conn_id": "c1", "seq": 0, "kind": "error_run"}
    ((key, event),) = event_rows(pa.RecordBatch.from_pylist([keys | {BODY: packed(body)}], EVENT_ROWS))
    assert key == ("10.0.0.1", 1, 9, RANKS["error_run"])
    assert isinstance(event, ErrorRun)
    assert (event.n, event.conn_id, event.ts_ns, event.last_ns) == (3, "c1", 9, 11)
    assert event.request is not None
    assert (event.request.request_id, event.request.ts_ns, event.request.conn_id) == ("c1-1", 5, "c1")
