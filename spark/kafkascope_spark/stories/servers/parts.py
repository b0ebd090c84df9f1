"""One server, in each of the times of the capture that its files cover: nothing is known of it in between, so that no
state goes on from one to the next."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from kafkascope_analyzer.dataset.stories.broker_states import BrokerState
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.rows import states_of

Row = dict[str, Any]


class ServerParts:
    """A record of the server for each time. covered: begin and end of each, in order."""

    def __init__(self, key: str, covered: Sequence[tuple[int, int]]) -> None:
        self.key = key
        self._parts = [ServerRecord(key, times) for times in covered]

    def take(self, row: Row) -> None:
        """Takes the next event of the server (client_stage.SHARED_ORDER): that of a host concerns all parts, others
        the part in which they began; a connection that in which it ended."""
        event = row[row["kind"]]
        if row["kind"] == "server_host":
            for part in self._parts:
                part.take({**row, "server_host": _host_in(part, event)})
        else:
            at_ns = event["last_ns"] if row["kind"] == "server_connection" else event["first_ns"]
            at = bisect_right(self._parts, at_ns, key=_begin_ns) - 1
            self._parts[max(at, 0)].take(row)

    def states(self) -> Iterator[BrokerState]:
        """The states of all parts. One that lasts to the end of its part ends there, but for the last one."""
        for part in self._parts[:-1]:
            for state in states_of(part):
                state.to_ns = to_ns = state.to_ns or part.capture_ns[1]
                if state.from_ns < to_ns:
                    yield state
        yield from states_of(self._parts[-1])


def _begin_ns(part: ServerRecord) -> int:
    return part.capture_ns[0]


def _host_in(part: ServerRecord, event: Row) -> Row:
    """What is known of a host in a part: packets of the server to it go from the begin of the part on where they began
    before it, and none where they begin after it or end before it."""
    begin_ns, end_ns = part.capture_ns
    first_ns, last_ns = event["first_ns"], event["last_ns"]
    if first_ns is None or begin_ns <= first_ns <= end_ns:
        return event
    if first_ns > end_ns or (last_ns or 0) < begin_ns:
        return event | {"first_ns": None}
    return event | {"first_ns": begin_ns}
