"""Events of the kind silence: unusually long times in which a client sent nothing on a connection."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.connections.sent_records import SentRecords
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.failed_requests import has_failed, is_throttled
from kafkascope_analyzer.scan.service_kernels import MILLISECOND
from kafkascope_parsers.api_keys import PRODUCE

_ENDS = {"before": ("request_last_ns", "first_ns"), "after": ("ts_ns", "last_ns")}
"""The times at both ends of a silence: the column of the request next to it, and the column of the silence."""
_OF_REQUEST = ("request_id", "api_key", "generation_or_epoch")
_SOON = 4
"""Records sent after a silence are counted for a quarter of the silence's length."""
_EDGE = 8
"""Records that were created in a silence are counted without an eighth of it at either end: a record may have been
created just before the process was stopped, or just after it continued."""
_NO_CLOCK = np.iinfo(np.int64).min


class SilenceEvents(EventSource):
    """Makes events of the kind silence from the rows that are gathered between the passes (client_silences), with the
    requests before and after each silence."""

    KINDS = (Silence,)

    def __init__(self, context: BucketContext) -> None:
        rows = context.shared.servers.silences
        conn = pc.index_in(rows["conn_id"], flat(context.connections["conn_id"]))
        self._rows = rows.filter(conn.is_valid())
        self._conn = conn.drop_null().to_numpy().astype(np.int64)
        self._is_silent = np.zeros(context.connections.num_rows, np.bool_)
        self._is_silent[self._conn] = True
        ends = {"before": self._rows["first_ns"].to_pylist(), "after": self._rows["last_ns"].to_pylist()}
        conn_list = self._conn.tolist()
        self._places = {
            side: {end: k for k, end in enumerate(zip(conn_list, times, strict=True))} for side, times in ends.items()
        }
        self._found: dict[str, list[pa.Table]] = {"before": [], "after": []}
        self._end_ns = {name: self._rows[name].fill_null(0).to_numpy() for name in ("first_ns", "last_ns")}
        first_ns, last_ns = self._end_ns["first_ns"], self._end_ns["last_ns"]
        self._known = set[tuple[int, int]]()
        self._last_ns, self._resumed_ns = np.full((2, context.connections.num_rows), -1)
        length = np.maximum(last_ns - first_ns, 0)
        self._sent_before = SentRecords(self._conn, first_ns - length, first_ns)
        self._sent_after = SentRecords(self._conn, last_ns, last_ns + length // _SOON)
        self._made = SentRecords(self._conn, first_ns + length // _EDGE, last_ns - length // _EDGE)
        self._clock_ns = np.full(context.connections.num_rows, _NO_CLOCK)
        self._clock_ns[self._conn] = self._rows["clock_ns"].fill_null(_NO_CLOCK).to_numpy()

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request is at the end of a silence, or the last of its connection, after which a silence may
        follow."""
        conn, number = int_column(rows, "conn", 0), int_column(rows, "number", -1)
        order = np.lexsort((number, conn))
        kept = np.zeros(len(conn), np.bool_)
        kept[order[np.append(np.diff(conn[order]) != 0, True)[: len(order)]]] = True
        for column, end in _ENDS.values():
            kept |= self._is_silent[conn] & np.isin(int_column(rows, column, 0), self._end_ns[end])
        kept &= number >= 0
        for column, _ in _ENDS.values():
            self._known.update(zip(conn[kept].tolist(), int_column(rows, column, 0)[kept].tolist(), strict=True))
            np.maximum.at(self._last_ns, conn, int_column(rows, column, 0))
        return kept

    def needs_all_requests(self) -> NDArray[np.bool_]:
        """Whether each connection has an end of a silence that earlier runs did not look for."""
        needed = np.zeros(len(self._is_silent), np.bool_)
        needed[[conn for conn, _ in self._missed()]] = True
        return needed

    def _missed(self) -> set[tuple[int, int]]:
        """Returns the ends of silences, as connection and time, in the part that earlier runs have read, that these
        runs did not look for."""
        ends = {end for places in self._places.values() for end in places if end[1] is not None}
        return {(conn, at_ns) for conn, at_ns in ends - self._known if at_ns <= self._resumed_ns[conn]}

    def added_up(self) -> dict[str, Any]:
        """Returns the ends of silences that were looked for, and the times of the requests that are kept."""
        looked_for = {end for places in self._places.values() for end in places if end[1] is not None}
        known = np.array(sorted((self._known | looked_for) - self._missed()), np.int64).reshape(-1, 2)
        return {"known": known, "last_ns": self._last_ns}

    def resume(self, added_up: dict[str, Any]) -> None:
        """Takes the ends that earlier runs looked for, and the requests that they kept."""
        self._known = set(map(tuple, added_up["known"].tolist()))
        for last_ns in (self._last_ns, self._resumed_ns):
            last_ns[: len(added_up["last_ns"])] = added_up["last_ns"]

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the requests at the ends of silences."""
        if len(self._conn):
            conn = int_column(rows, "conn", 0)
            mine = np.flatnonzero(self._is_silent[conn] & (int_column(rows, "number", -1) >= 0))
            for side, (column, end) in _ENDS.items():
                at_ns = int_column(rows, column, 0)
                near = mine[np.isin(at_ns[mine], self._end_ns[end])]
                self._keep(
                    side, rows.take(pa.array(near)), list(zip(conn[near].tolist(), at_ns[near].tolist(), strict=True))
                )
        yield from ()

    def take_claimed(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the requests at the ends of silences."""
        return self.take_requests(rows)

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether each connection was silent, for Produce requests."""
        return self._is_silent if (api_key, direction) == (PRODUCE, "request") else None

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Counts the records that were sent before and after silences, and those that were created in them."""
        conn = int_column(rows, "conn", 0)
        mine = np.flatnonzero(self._is_silent[conn])
        conn, at_ns, n = (int_column(rows, name, 0)[mine] for name in ("conn", "ts_ns", "n_records"))
        for sent in (self._sent_before, self._sent_after):
            sent.take(conn, at_ns, n)
        first_ms, last_ms = (int_column(rows, f"{end}_timestamp_ms", -1)[mine] for end in ("first", "max"))
        timed = np.flatnonzero((first_ms >= 0) & (self._clock_ns[conn] != _NO_CLOCK))
        middle_ms = (first_ms + np.maximum(first_ms, last_ms))[timed] // 2
        self._made.take(conn[timed], middle_ms * MILLISECOND + self._clock_ns[conn[timed]], n[timed])
        yield from ()

    def _keep(self, side: str, rows: pa.Table, ends: list[tuple[int, int]]) -> None:
        """Keeps the requests whose connection and time are those of an end of a silence."""
        place = pa.array([self._places[side].get(end) for end in ends], pa.int64())
        failed = pa.array(has_failed(rows, int_column(rows, "status_code", 0)) | is_throttled(rows))
        kept = rows.select(_OF_REQUEST).append_column("failed", failed).append_column("place", place)
        self._found[side].append(kept.filter(place.is_valid()))

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the rows of the bucket's connections."""
        if not self._rows.num_rows:
            return
        body = {name.replace("_packet", "_packet_no"): self._rows[name] for name in self._rows.column_names}
        body |= self._requests("before", (*_OF_REQUEST, "failed"))
        body |= {"n_sent_before": self._sent_before.counts(), "n_sent_after": self._sent_after.counts()}
        body["n_made_meanwhile"] = pc.if_else(body.pop("clock_ns").is_valid(), self._made.counts(), None)
        body["next_request_id"] = self._requests("after", ("request_id",))["request_id"]
        client_ip = flat(connections["client_ip"]).take(
            pc.index_in(flat(self._rows["conn_id"]), flat(connections["conn_id"]))
        )
        place = client_place(client_ip, body["conn_id"], body["first_ns"], body["first_packet_no"])
        yield event_table(Silence, place, body)

    def _requests(self, side: str, names: tuple[str, ...]) -> dict[str, pa.Array]:
        """Returns columns of the requests at one end of the silences; null where the capture has none."""
        found = self._found[side]
        if not found:
            return {name: pa.nulls(self._rows.num_rows) for name in names}
        rows = pa.concat_tables(found)
        at = pc.index_in(pa.array(np.arange(self._rows.num_rows)), flat(rows["place"]))
        return {name: flat(rows[name]).take(at) for name in names}
