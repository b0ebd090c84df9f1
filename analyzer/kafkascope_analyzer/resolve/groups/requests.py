"""Chooses the requests that are events of groups: requests that form or change a group, and those by which members keep
their membership.

All functions take a batch of finished rows of `requests` and work on columns. Memory is that of the relevant requests:
successful heartbeats and commits are rolled up as they come.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.groups.messages import HEARTBEAT_APIS, MEMBERSHIP_APIS
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.saved_state import table_bytes, table_of
from kafkascope_parsers.error_facts import COMMIT_REFUSED
from kafkascope_parsers.schema import keys_by_name

API_KEYS = keys_by_name()
COMMIT_APIS = ("OffsetCommit", "TxnOffsetCommit")
_FIND_COORDINATOR, _HEARTBEAT = API_KEYS["FindCoordinator"], API_KEYS["Heartbeat"]


def _keys(*names: str) -> pa.Array:
    return pa.array([API_KEYS[name] for name in names], pa.int16())


_OF_GROUPS = _keys(*MEMBERSHIP_APIS, *HEARTBEAT_APIS, *COMMIT_APIS, "Heartbeat", "FindCoordinator")
_MEMBERSHIP = _keys(*MEMBERSHIP_APIS)
_WHOLE_PROTOCOL = _keys(*HEARTBEAT_APIS)
_COMMITS = _keys(*COMMIT_APIS)
_MAY_FORM = _keys(*MEMBERSHIP_APIS, *HEARTBEAT_APIS, "FindCoordinator").to_numpy()
_KEEPING_PLACE = _keys(*HEARTBEAT_APIS, "Heartbeat", "OffsetCommit")

_KEPT = (
    *("request_id", "conn_id", "client_ip", "client_id", "node_id", "api_key", "ts_ns", "request_packet_no"),
    *("response_ns", "response_last_ns", "status", "error_name", "group_id", "member_id", "group_instance_id"),
    *("generation_or_epoch", "coordinator_type", "coordinator_key", "number"),
)
_MEMBER_KEYS = ["group_id", "api_key", "member_id", "generation_or_epoch", "conn_id"]
_MEMBER_FIRST = ["ts_ns", "packet_no", "number", "request_id", "client_ip", "client_id", "node_id", "group_instance_id"]
_MEMBER_ORDER = [(name, "ascending") for name in ("ts_ns", "packet_no", "number")]
MERGED_ROWS = 1 << 16
"""Most rolled-up rows before those of one member are merged."""


def requests_of_groups(rows: pa.Table) -> pa.Table:
    """Returns the requests of the APIs of groups that are in the capture, in few columns, with packet_no."""
    mine = rows.select(_KEPT).filter(
        pc.and_(pc.is_in(rows["api_key"], _OF_GROUPS), pc.not_equal(rows["status"], "orphan_response"))
    )
    packet_no = pc.fill_null(mine["request_packet_no"], 0)
    return mine.append_column("packet_no", packet_no).append_column(
        "failed", pc.not_equal(pc.coalesce(mine["error_name"], pa.scalar("NONE")), "NONE")
    )


def forming_requests(rows: pa.Table, heartbeat_ids: pa.Array) -> pa.Table:
    """Returns the requests of groups that are events by themselves; group_id also holds the key of FindCoordinator.
    heartbeat_ids: request ids of the relevant heartbeats that carry the whole protocol."""
    api, failed = rows["api_key"], rows["failed"]
    looked_up = _true(
        pc.and_(
            pc.equal(api, _FIND_COORDINATOR),
            pc.and_(pc.equal(rows["coordinator_type"], "group"), pc.equal(rows["status"], "ok")),
        )
    )
    heartbeat = pc.and_(pc.is_in(api, _WHOLE_PROTOCOL), pc.or_(failed, pc.is_in(rows["request_id"], heartbeat_ids)))
    refused = pc.and_(pc.is_in(api, _COMMITS), pc.is_in(rows["error_name"], pa.array(sorted(COMMIT_REFUSED))))
    chosen = pc.or_(
        pc.or_(pc.is_in(api, _MEMBERSHIP), pc.or_(heartbeat, refused)),
        pc.or_(looked_up, pc.and_(pc.equal(api, _HEARTBEAT), failed)),
    )
    group = pc.coalesce(rows["group_id"], pc.if_else(looked_up, rows["coordinator_key"], pa.scalar(None, pa.string())))
    named = rows.set_column(rows.column_names.index("group_id"), "group_id", group)
    return named.filter(pc.and_(_true(chosen), group.is_valid()))


def may_form(rows: pa.Table) -> NDArray[np.bool_]:
    """Whether each row of `requests` may belong to forming_requests although it did not fail."""
    return np.asarray(np.isin(int_column(rows, "api_key", -1), _MAY_FORM), np.bool_)


def _true(flags: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(flags, False)


class MemberRollup:
    """Successful requests by which members kept their membership, rolled up to one row for each group, API, member,
    generation and connection: the first request, the time of the last, and their number."""

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._n_rows = 0

    def add(self, rows: pa.Table) -> None:
        """Takes requests of groups."""
        named = pc.and_(pc.greater(pc.binary_length(rows["member_id"]), 0), rows["group_id"].is_valid())
        current = pc.and_(named, pc.greater_equal(rows["generation_or_epoch"], 0))
        kept = pc.and_(pc.is_in(rows["api_key"], _KEEPING_PLACE), pc.invert(rows["failed"]))
        mine = rows.filter(_true(pc.and_(kept, current)))
        if not mine.num_rows:
            return
        mine = mine.select([*_MEMBER_KEYS, *(name for name in _MEMBER_FIRST if name not in _MEMBER_KEYS)])
        mine = mine.append_column("last_ns", mine["ts_ns"])
        self._parts.append(_rolled_up(mine.append_column("n", pa.repeat(pa.scalar(1, pa.int64()), mine.num_rows))))
        self._n_rows += self._parts[-1].num_rows
        if self._n_rows > MERGED_ROWS:
            self._parts = [_rolled_up(pa.concat_tables(self._parts))]
            self._n_rows = 0  # the remaining rows are of distinct members: merge again when as many new ones have come

    def state(self) -> bytes | None:
        """Returns the rolled-up rows, to be saved; None where there are none."""
        total = self.total()
        return None if total is None else table_bytes(total)

    def resume(self, state: bytes | None) -> None:
        """Continues from a saved state."""
        self._parts = [] if state is None else [table_of(state)]

    def total(self) -> pa.Table | None:
        """Returns the rolled-up rows; None where there are none."""
        return _rolled_up(pa.concat_tables(self._parts)) if self._parts else None


def _rolled_up(rows: pa.Table) -> pa.Table:
    ordered = rows.sort_by(_MEMBER_ORDER)
    total = ordered.group_by(_MEMBER_KEYS, use_threads=False).aggregate(
        [
            *((name, "first", pc.ScalarAggregateOptions(skip_nulls=False)) for name in _MEMBER_FIRST),
            ("last_ns", "max"),
            ("n", "sum"),
        ]
    )
    renamed = [name.removesuffix("_first").removesuffix("_max").removesuffix("_sum") for name in total.column_names]
    return total.rename_columns(renamed)
