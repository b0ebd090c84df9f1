"""Events of the kinds produce_wait and fetch_run: waits of producers, and Fetch runs of consumers, by topic-partition.

Both are found before, for the connections of all buckets (produce_facts, fetch_facts). This source writes those of the
bucket, and the first batches that were accepted after a failure, on each connection of the client.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.event_kinds.services import FetchRun, ProduceWait
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FollowCounter
from kafkascope_analyzer.resolve.requests.times_of_requests import TimesOfRequests
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.errors import error_names
from kafkascope_analyzer.scan.service_kernels import MILLISECOND
from kafkascope_parsers.api_keys import PRODUCE


class ServiceEvents(EventSource):
    """EventSource of the kinds produce_wait and fetch_run. Memory: the state of FollowCounter, and a time
    for each run."""

    KINDS = (ProduceWait, FetchRun)

    def __init__(self, context: BucketContext) -> None:
        self._connections = context.connections
        self._conn_ids = flat(context.connections["conn_id"])
        self._runs, self._waits = context.shared.fetch_runs, context.shared.produce_waits
        self._failures = context.shared.partition_failures.partitions
        self._clients = self._failures.clients(context.connections["client_ip"])
        self._counter = FollowCounter(len(self._failures.starts), 1)
        self._first = [self._mine(self._runs, "first_ns")[name].to_numpy() for name in ("conn", "number")]
        self._asked, self._held_until = TimesOfRequests(*self._first), TimesOfRequests(*self._first)
        self._highest = np.full(len(self._conn_ids), -1)
        """The highest number of a request that was taken, by connection."""
        self._taken = np.empty(0, np.int64)
        """The rows of the last batch of `partitions` that are events."""

    def needs_all_requests(self) -> NDArray[np.bool_]:
        """Whether each connection has a run that was not known when its first request was added to the totals."""
        conn, number = self._first
        is_missed = np.asarray(self._asked.times().is_null()) & (number <= self._highest[conn])
        needed = np.zeros(len(self._conn_ids), np.bool_)
        needed[conn[is_missed]] = True
        return needed

    def added_up(self) -> dict[str, Any]:
        """Returns the results about the first requests of runs."""
        return {"asked": self._asked.state(), "held": self._held_until.state(), "highest": self._highest}

    def resume(self, added_up: dict[str, Any]) -> None:
        """Continues from the results of an earlier run."""
        self._asked.resume(added_up["asked"])
        self._held_until.resume(added_up["held"])
        self._highest[: len(added_up["highest"])] = added_up["highest"]

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps when the first request of each run was sent, and how long it allows the broker to wait for more
        records."""
        conn, number, ts_ns, wait_ms = (
            int_column(rows, name, -1) for name in ("conn", "number", "ts_ns", "max_wait_ms")
        )
        np.maximum.at(self._highest, conn, number)
        self._asked.take(conn, number, ts_ns)
        patient = np.flatnonzero((int_column(rows, "min_bytes", 0) > 1) & (wait_ms > 0))
        until_ns = ts_ns[patient] + wait_ms[patient] * MILLISECOND
        self._held_until.take(conn[patient], number[patient], until_ns)
        yield from ()

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether the client of each connection has failures, for Produce responses."""
        return self._clients != NO_SUBJECT if (api_key, direction) == (PRODUCE, "response") else None

    def wants_all_partitions(self, api_key: int, direction: str) -> None:
        """None: the rows that it keeps are enough."""

    def keeps_partitions(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each row is the first batch that was accepted after a failure."""
        kept = np.zeros(rows.num_rows, np.bool_)
        kept[self._taken] = True
        return kept

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Yields the first batch of a topic-partition that is accepted after each failure there of the same client."""
        accepted = self._taken = np.flatnonzero(int_column(rows, "error_code", -1) == 0)
        rows = rows.take(pa.array(accepted))
        conn, ts_ns = int_column(rows, "conn", 0), int_column(rows, "ts_ns", 0)
        subjects = self._failures.subjects(self._clients[conn], [rows["topic"], rows["partition"]])
        failed = np.flatnonzero(subjects != NO_SUBJECT)
        since = self._failures.last(subjects[failed], ts_ns[failed]) if len(failed) else failed
        failed, since = failed[since != NO_SUBJECT], since[since != NO_SUBJECT]
        first = failed[self._counter.take(conn[failed], subjects[failed], since)]
        self._taken = accepted[first]
        if not len(first):
            return
        chosen = rows.take(pa.array(first))
        columns = {name: chosen[name] for name in ("conn", "number", "ts_ns", "topic", "partition", "request_id")}
        columns["accepted_ns"] = chosen["ts_ns"]
        columns["n"] = pa.repeat(1, chosen.num_rows)
        yield self._events(ProduceWait, columns)

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the waits and runs of the connections of this bucket."""
        waits = self._mine(self._waits, "sent_ns")
        waits["error_name"] = _failures(waits["error_code"])
        yield self._events(ProduceWait, waits)
        runs = self._mine(self._runs, "first_ns")
        yield self._events(
            FetchRun, runs | {"asked_ns": self._asked.times(), "held_until_ns": self._held_until.times()}
        )

    def _mine(self, rows: pa.Table, time: str) -> dict[str, pa.Array]:
        """Returns the rows of connections of this bucket, with number of the connection, time and requests."""
        conn = pc.index_in(rows["conn_id"], self._conn_ids)
        rows = rows.filter(conn.is_valid())
        columns = {name: flat(rows[name]) for name in rows.column_names}
        columns["conn"] = flat(conn.drop_null()).cast(pa.int64())
        numbers = columns["conn"].to_numpy()
        for name, number in (("request_id", "number"), ("last_request_id", "last_number")):
            columns[name] = request_ids(self._conn_ids, numbers, columns[number].to_numpy())
        return columns | {"ts_ns": columns[time]}

    def _events(self, kind: type[Event], columns: dict[str, pa.Array]) -> pa.Table:
        columns = {name: flat(values) for name, values in columns.items()}
        known = self._connections.select(["conn_id", "client_ip", "node_id"]).take(columns["conn"])
        columns |= {name: flat(known[name]) for name in known.column_names}
        columns["topic"] = columns["topic"].cast(pa.string())
        named = pc.binary_join_element_wise(columns["topic"], columns["partition"].cast(pa.string()), "-")
        key = pc.coalesce(named, columns["conn_id"])
        seq = columns["number"].cast(pa.int32(), safe=False)
        client_ip, conn_id = columns["client_ip"], columns["conn_id"]
        place = EventPlace(key, client_ip, conn_id, columns["ts_ns"], seq=seq)
        return event_table(kind, place, columns)


def _failures(error_codes: pa.Array) -> pa.Array:
    """Returns the names of error codes; null for none."""
    return error_names(pc.if_else(pc.equal(error_codes, 0), None, error_codes))
