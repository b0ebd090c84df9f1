"""`HeldRequest`: a request of a group's member that waited in the broker behind a long poll.

A broker answers the requests of a connection in their order. A Fetch that may wait longer (max_wait_ms) than the
session of the member lasts holds back the heartbeats behind it on the same connection: the coordinator does not see
them before the session is over.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers.api_keys import FETCH

LEAST_WAIT_MS = 5_000
"""The shortest long poll that may outlast a session: group.min.session.timeout.ms of brokers is 6 s by default."""


@dataclass(frozen=True, slots=True)
class _Request(Row):
    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    conn_id: str
    api_name: str
    ts_ns: int
    response_ns: int | None
    max_wait_ms: int | None
    request_packet_no: int | None

    @property
    def until_ns(self) -> int:
        """Time of the response; FOREVER if there is none."""
        return FOREVER if self.response_ns is None else self.response_ns


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """A request that was held behind a long poll. poll_packet_no: packet of the Fetch; max_wait_ms: longest wait of the
    Fetch; from_ns, to_ns: time in which the request was held."""

    request_id: str
    api_name: str
    from_ns: int
    to_ns: int
    max_wait_ms: int
    poll_packet_no: int | None


def held_requests(dataset: Dataset | None, request_ids: Collection[str]) -> list[HeldRequest]:
    """Returns those of the given requests that waited behind a long poll, in order of time; none without a dataset.
    Raises UsageError where a table cannot be read. Memory: these requests, and the long polls of their connections."""
    if dataset is None or not request_ids:
        return []
    polls: dict[str, list[_Request]] = defaultdict(list)
    asked = list(read(dataset, _Request, one_of("request_id", sorted(request_ids))))
    of_connections = one_of("conn_id", sorted({row.conn_id for row in asked}))
    is_poll = (ds.field("api_key") == FETCH) & (ds.field("max_wait_ms") >= LEAST_WAIT_MS)
    for poll in read(dataset, _Request, of_connections & is_poll):
        polls[poll.conn_id].append(poll)
    found = (_held(row, polls[row.conn_id]) for row in sorted(asked, key=lambda r: (r.ts_ns, r.request_id)))
    return [each for each in found if each is not None]


def _held(row: _Request, polls: Iterable[_Request]) -> HeldRequest | None:
    """Returns the request with the poll that held it: a poll that was in flight when the request was sent, and that was
    answered before it. None if there is none."""
    for poll in polls:
        if poll.request_id != row.request_id and poll.ts_ns <= row.ts_ns < poll.until_ns <= row.until_ns:
            return HeldRequest(
                row.request_id, row.api_name, row.ts_ns, poll.until_ns, poll.max_wait_ms or 0, poll.request_packet_no
            )
    return None
