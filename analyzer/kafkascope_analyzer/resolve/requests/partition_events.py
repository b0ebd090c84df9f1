"""Events of the kind partition: the topic-partitions in requests and responses after an error on them.

After each failure of a topic-partition, as its client saw it on any connection, the first AFTER_ERROR requests that
name it in each message of each connection are events, if they do not fail themselves. So are errors that name the
leader (KIP-951), and the topic-partitions in requests that were never answered because their connection failed. A
request whose own response fails next is left out: the error represents both. For a topic that failed as a whole, all
partitions are followed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import rank_in_group
from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.dataset.tables.event_kinds.requests import PartitionAccess
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, event_table
from kafkascope_analyzer.resolve.requests.error_runs import NO_RUN
from kafkascope_analyzer.resolve.requests.failed_answers import FailedAnswers
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FailureTimes, FollowCounter
from kafkascope_analyzer.scan.apis import PARTITION_APIS, RECORD_APIS, int_column
from kafkascope_analyzer.scan.unanswered import (
    MOST_NUMBER,
    UNANSWERED_COLUMNS,
    is_one_of,
    of_failed_connections,
    only_for_records,
    request_numbers,
)

AFTER_ERROR = 16
"""Occurrences of a topic-partition that are kept after each failure, for each message on each connection: enough for
the requests in flight and the first success. A client may send hundreds of Metadata requests before it recovers."""
_OK = REQUEST_STATUSES.index("ok")
_MESSAGE_SEQ = 1 << 22
"""Multiplier of the message's number in seq; larger than the number of partitions in any frame."""
_NO_UNANSWERED = pa.schema(
    [("conn", pa.int64()), ("number", pa.int64()), ("api_key", pa.int16()), ("request_last_ns", pa.int64())]
).empty_table()


class PartitionEvents(EventSource):
    """Makes events of the kind partition. Memory: the state of FollowCounter and FailedAnswers."""

    KINDS = (PartitionAccess,)

    def __init__(self, context: BucketContext) -> None:
        failures = context.shared.partition_failures
        self._connections, self._runs = context.connections, context.runs
        self._partitions, self._topics = failures.partitions, failures.topics
        self._clients = {
            id(times): times.clients(context.connections["client_ip"]) for times in (self._partitions, self._topics)
        }
        self._is_needed = bool(len(self._partitions) or len(self._topics))
        self._waiting: list[pa.Table] = [_NO_UNANSWERED]
        self._unanswered: NDArray[np.int64] | None = None
        self._answers = FailedAnswers(self._partitions, self._clients[id(self._partitions)])
        self._highest = np.full(context.connections.num_rows, -1)
        """The highest number of a request that was taken, by connection."""
        self._message: tuple[int, str] | None = None
        self._counters: list[FollowCounter] = []
        self._taken = np.empty(0, np.int64)
        """The rows of the last batch that later runs need."""

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Notes which requests fail for which topic-partition."""
        if self._is_needed:
            self._answers.add_errors(self._runs.without_middles(rows))
        yield from ()

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request was not answered successfully."""
        return np.asarray(int_column(rows, "status_code", _OK) != _OK, np.bool_)

    def needs_all_requests(self) -> NDArray[np.bool_] | None:
        """Whether each connection has a failed request whose next request came before the failure was known."""
        if not self._is_needed:
            return None
        conn, number = np.divmod(self._answers.without_next(), MOST_NUMBER + 1)
        needed = np.zeros(len(self._highest), np.bool_)
        needed[conn[number < self._highest[conn]]] = True
        return needed

    def added_up(self) -> dict[str, Any]:
        """Returns the notes about the requests that follow failures."""
        return {"answers": self._answers.state(), "highest": self._highest}

    def resume(self, added_up: dict[str, Any]) -> None:
        """Continues from the notes of an earlier run."""
        self._answers.resume(added_up["answers"])
        self._highest[: len(added_up["highest"])] = added_up["highest"]

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Notes requests that were never answered, and the next requests after failed ones."""
        np.maximum.at(self._highest, int_column(rows, "conn", 0), int_column(rows, "number", -1))
        if not self._is_needed:
            return
        self._answers.add_requests(rows)
        waits = np.asarray(pc.equal(rows["status"], "unanswered"))
        unanswered = only_for_records(rows, waits) if waits.any() else None
        if unanswered is not None:
            self._waiting.append(pa.table(unanswered.columns, UNANSWERED_COLUMNS).cast(_NO_UNANSWERED.schema))
        yield from ()

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether the client of each connection has failures, for messages that clients send again after an error."""
        if not self._is_needed or api_key not in PARTITION_APIS:
            return None
        return np.asarray(np.any([clients != NO_SUBJECT for clients in self._clients.values()], axis=0), np.bool_)

    def wants_all_partitions(self, api_key: int, direction: str) -> None:
        """None: the rows that it keeps are enough."""

    def keeps_partitions(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each row follows an error, names the leader, or was never answered. Requests whose own response fails
        next are kept too: they count among those that follow an error."""
        kept = np.zeros(rows.num_rows, np.bool_)
        kept[self._taken] = True
        return kept

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Yields the rows that closely follow an error."""
        if self._message != (api_key, direction):
            self._message = (api_key, direction)
            self._counters = [
                FollowCounter(len(times.starts), AFTER_ERROR) for times in (self._partitions, self._topics)
            ]
        conn = int_column(rows, "conn", 0)
        subjects = self._subjects(self._partitions, conn, [rows["topic"], rows["partition"]])
        topics = self._subjects(self._topics, conn, [rows["topic"]])
        if len(self._runs):
            is_single = self._runs.run_of(request_numbers(rows)) == NO_RUN
            subjects, topics = np.where(is_single, subjects, NO_SUBJECT), np.where(is_single, topics, NO_SUBJECT)
        near = self._taken = np.flatnonzero((subjects != NO_SUBJECT) | (topics != NO_SUBJECT))
        if len(near):
            rows = rows.take(pa.array(near))
            yield from self._events(rows, conn[near], subjects[near], topics[near])

    def _subjects(
        self, times: FailureTimes, conn: NDArray[np.int64], columns: list[pa.ChunkedArray]
    ) -> NDArray[np.int64]:
        if not len(times):
            return np.full(len(conn), NO_SUBJECT)
        return times.subjects(self._clients[id(times)][conn], columns)

    def _events(
        self, rows: pa.Table, conn: NDArray[np.int64], subjects: NDArray[np.int64], topics: NDArray[np.int64]
    ) -> Iterator[pa.Table]:
        """Yields the events of rows whose topic-partition or topic has failed for their client."""
        failed = int_column(rows, "error_code", 0) != 0
        leaders = pc.coalesce(flat(rows["leader_id"]), flat(rows["current_leader_id"]))
        hints = failed & (leaders.fill_null(-1).to_numpy() >= 0)
        unanswered = self._are_unanswered(rows)
        ts_ns = int_column(rows, "ts_ns", 0)
        follows, by_topic = np.zeros(len(conn), np.bool_), np.empty(0, np.int64)
        known = (self._partitions, subjects), (self._topics, topics)
        for counter, (times, which) in zip(self._counters, known, strict=True):
            mine = np.flatnonzero((which != NO_SUBJECT) & ~failed)
            since = times.last(which[mine], ts_ns[mine]) if len(mine) else mine
            mine, since = mine[since != NO_SUBJECT], since[since != NO_SUBJECT]
            by_topic = mine[counter.take(conn[mine], which[mine], since)]
            follows[by_topic] = True
        kept = follows | hints | unanswered
        self._taken = self._taken[kept]
        marks = {"leader_id": leaders, "hints": pa.array(hints), "unanswered": pa.array(unanswered)}
        if self._message is not None and self._message[1] == "request":
            fails = self._answers.fail_next(rows, subjects) & ~unanswered
            fails[by_topic] = False  # a row of another partition of the topic may come before the response
            kept &= ~fails
        if kept.any():
            columns = {name: pc.filter(values, pa.array(kept)) for name, values in marks.items()}
            yield self._table(rows.filter(pa.array(kept)), columns)

    def _are_unanswered(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each row belongs to a request that was never answered because its connection failed."""
        if self._message is None or self._message[1] != "request" or self._message[0] not in RECORD_APIS:
            return np.zeros(rows.num_rows, np.bool_)
        if self._unanswered is None:
            self._unanswered = of_failed_connections(pa.concat_tables(self._waiting), self._connections)
        return is_one_of(request_numbers(rows), self._unanswered)

    def _table(self, rows: pa.Table, marks: dict[str, pa.Array]) -> pa.Table:
        """Returns the rows as events; those of one connection and time are in order of request, topic and partition."""
        api_key, direction = self._message or (0, "")
        n = rows.num_rows
        keys = rows.select(["conn", "ts_ns", "number"]).append_column("topic", rows["topic"].cast(pa.string()))
        keys = keys.append_column("partition", rows["partition"].cast(pa.string()))
        order = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
        rows, marks = rows.take(order), {name: values.take(order) for name, values in marks.items()}
        conn = int_column(rows, "conn", 0)
        place = rank_in_group(conn, int_column(rows, "ts_ns", 0))
        seq = (2 * api_key + (direction == "response")) * _MESSAGE_SEQ + place
        known = self._connections.select(["client_ip", "conn_id"]).take(pa.array(conn))
        is_answer = direction == "response"
        body = {
            **{name: rows[name] for name in ("request_id", "api_key", "partition")},
            "topic": rows["topic"].cast(pa.string()),
            "answered": pa.repeat(is_answer, n),
            **marks,
        }
        where = client_place(known["client_ip"], known["conn_id"], rows["ts_ns"], seq=pa.array(seq))
        return event_table(PartitionAccess, where, body)
