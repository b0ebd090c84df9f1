"""Which requests name a topic-partition that their own answer says has failed, with nothing in between: the error is
an event, and tells of both.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.apis import PARTITION_APIS, ApiSet, int_column
from kafkascope_analyzer.resolve.failure_times import NO_SUBJECT, FailureTimes
from kafkascope_analyzer.resolve.unanswered import request_numbers

_NAMING = ApiSet(PARTITION_APIS)
_NEVER = np.iinfo(np.int64).max


class FailedAnswers:
    """Notes errors of topic-partitions (24 bytes each), then finds the requests that they answer. clients: the client
    of each connection, as FailureTimes numbers them."""

    def __init__(self, failures: FailureTimes, clients: NDArray[np.int64]) -> None:
        self._failures, self._clients = failures, clients
        self._parts: list[NDArray[np.int64]] = []
        self._sorted: NDArray[np.int64] | None = None

    def add(self, errors: pa.Table) -> None:
        """Takes rows of `errors`."""
        named = pc.and_(pc.is_valid(errors["topic"]), pc.is_valid(errors["partition"]))
        rows = errors.select(["conn", "number", "api_key", "ts_ns", "topic", "partition"]).filter(named)
        conn = int_column(rows, "conn", 0)
        subjects = self._failures.subjects(self._clients[conn], [rows["topic"], rows["partition"]])
        chosen = (subjects != NO_SUBJECT) & _NAMING.has(int_column(rows, "api_key", -1))
        columns = [request_numbers(rows), subjects, int_column(rows, "ts_ns", 0)]
        if chosen.any():
            self._parts.append(np.column_stack(columns)[chosen])

    def restart(self) -> None:
        """Another message begins."""
        if self._sorted is None:
            rows = np.concatenate([np.empty((0, 3), np.int64), *self._parts])
            self._sorted = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
            self._parts = []

    def fail_next(
        self, rows: pa.Table, conn: NDArray[np.int64], subjects: NDArray[np.int64], asked: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether the next mention of each row's topic-partition is the error that answers it: no other request of the
        batch on its connection, and no other error on any, comes before. asked: the rows to look at."""
        fails = np.zeros(len(conn), np.bool_)
        if self._sorted is None or not len(self._sorted):
            return fails
        ts_ns = int_column(rows, "ts_ns", 0)
        answer_ns = self._answer_ns(request_numbers(rows), subjects)
        order = np.lexsort((np.arange(len(conn)), subjects, conn))
        same = (conn[order][1:] == conn[order][:-1]) & (subjects[order][1:] == subjects[order][:-1])
        next_ns = np.full(len(conn), _NEVER)
        next_ns[order[:-1][same]] = ts_ns[order[1:][same]]
        mine = np.flatnonzero(asked & (answer_ns != _NEVER) & (next_ns > answer_ns))
        before = self._failures.last(subjects[mine], answer_ns[mine], strictly=True)
        fails[mine] = before == self._failures.last(subjects[mine], ts_ns[mine])
        return fails

    def _answer_ns(self, numbers: NDArray[np.int64], subjects: NDArray[np.int64]) -> NDArray[np.int64]:
        """When the answer to each request said that the subject has failed; _NEVER where it did not."""
        found = np.full(len(numbers), _NEVER)
        known = self._sorted
        if known is None or not len(known):
            return found
        distinct = np.unique(known[:, 0])
        at = np.searchsorted(distinct, numbers)
        width = len(self._failures.starts) + 1
        mine = np.searchsorted(distinct, known[:, 0]) * width + known[:, 1]
        wanted = at * width + subjects
        place = np.minimum(np.searchsorted(mine, wanted), len(mine) - 1)
        is_known = (distinct[np.minimum(at, len(distinct) - 1)] == numbers) & (mine[place] == wanted)
        is_known &= subjects != NO_SUBJECT
        found[is_known] = known[place[is_known], 2]
        return found
