"""Events of groups: requests that form or change a group, members that keep their membership, committed offsets.

Bodies of messages are read once, and only for the relevant requests.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupLag, GroupRequest, MemberActivity
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.groups.messages import (
    HEARTBEAT_APIS,
    MEMBERSHIP_APIS,
    REQUEST_BODY,
    RESPONSE_BODY,
    relevant_heartbeats,
    request_bodies,
    response_bodies,
)
from kafkascope_analyzer.resolve.groups.requests import (
    API_KEYS,
    MemberRollup,
    forming_requests,
    may_form,
    requests_of_groups,
)


class GroupEvents(EventSource):
    """EventSource of the kinds of events about groups."""

    KINDS = (GroupRequest, MemberActivity, GroupLag)

    def __init__(self, context: BucketContext) -> None:
        self._topics = context.topics
        self._heartbeats = {api: relevant_heartbeats(context.read_messages, api) for api in HEARTBEAT_APIS}
        self._heartbeat_ids = pa.concat_arrays(list(self._heartbeats.values()))
        self._forming: list[pa.Table] = []
        self._members = MemberRollup()
        self._connections = context.connections
        self._lag_points = context.shared.lag_points

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields nothing yet: requests are completed at the end."""
        mine = requests_of_groups(rows)
        if mine.num_rows:
            self._forming.append(forming_requests(mine, self._heartbeat_ids))
        yield from ()

    def add_up(self, rows: pa.Table) -> None:
        """Rolls up the requests of members that keep their place."""
        mine = requests_of_groups(rows)
        if mine.num_rows:
            self._members.add(mine)

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request may form or change a group. Other requests that do so have failed, and are kept for that
        reason."""
        return may_form(rows)

    def added_up(self) -> bytes | None:
        """Returns the rolled-up requests by which members kept their membership."""
        return self._members.state()

    def resume(self, added_up: bytes) -> None:
        """Continues from the totals of an earlier run."""
        self._members.resume(added_up)

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields all events of groups."""
        if self._forming:
            yield self._requests(pa.concat_tables(self._forming).combine_chunks(), connections, read_messages)
        members = self._members.total()
        if members is not None:
            yield _events(MemberActivity, members)
        yield self._lag(connections)

    def _requests(self, rows: pa.Table, connections: pa.Table, read: MessageReader) -> pa.Table:
        requests, responses = self._bodies(rows, read)
        closes = pc.index_in(rows["conn_id"], flat(connections["conn_id"]))
        columns = {
            "request": _body(rows, requests, REQUEST_BODY),
            "response": _body(rows, responses, RESPONSE_BODY),
            "response_ns": pc.max_element_wise(rows["response_ns"], rows["response_last_ns"]),
            "close_ns": connections["close_ns"].take(closes),
            "close_kind": connections["close_kind"].take(closes),
        }
        return _events(GroupRequest, rows, columns)

    def _bodies(self, rows: pa.Table, read: MessageReader) -> tuple[pa.Table, pa.Table]:
        """Returns bodies of the relevant requests, and of the responses to them."""
        present = set(rows["api_key"].unique().to_pylist())
        wanted: dict[str, pa.Array | None] = dict.fromkeys(MEMBERSHIP_APIS) | self._heartbeats
        apis = {api: ids for api, ids in wanted.items() if API_KEYS[api] in present}
        requests = [request_bodies(read, api, ids) for api, ids in apis.items()]
        responses = [response_bodies(read, api, self._topics, ids) for api, ids in apis.items()]
        return _all(requests), _all(responses)

    def _lag(self, connections: pa.Table) -> pa.Table:
        """Returns the commits on connections of this bucket that are lag points."""
        at = pc.index_in(self._lag_points["conn_id"], flat(connections["conn_id"]))
        rows = self._lag_points.append_column("client_ip", connections["client_ip"].take(at))
        return _events(
            GroupLag,
            rows.filter(at.is_valid()),
            {"committed_offset": rows["partition_offset"].filter(at.is_valid())},
        )


def _all(bodies: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(bodies) if bodies else pa.table({"request_id": pa.array([], pa.string())})


def _body(rows: pa.Table, bodies: pa.Table, kind: pa.StructType) -> pa.Array:
    """Returns the body of each row's message; null where there is none."""
    if not bodies.num_rows:
        return pa.nulls(rows.num_rows, kind)
    return flat(bodies["body"]).take(flat(pc.index_in(rows["request_id"], flat(bodies["request_id"]))))


def _events(kind: type[Event], rows: pa.Table, more: Mapping[str, pa.Array] | None = None) -> pa.Table:
    """Returns rows of `events`. more: columns of the struct that the rows do not have."""
    columns = {name: rows[name] for name in rows.column_names} | dict(more or {})
    place = EventPlace(
        key=columns["group_id"],
        client_ip=columns["client_ip"],
        conn_id=columns["conn_id"],
        ts_ns=columns["ts_ns"],
        packet_no=columns.get("packet_no"),
        seq=columns["number"],
    )
    return event_table(kind, place, columns)
