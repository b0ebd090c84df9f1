"""Moments at which a client was silent on all its connections, and what was due then."""

from dataclasses import dataclass
from typing import Literal

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_spark.stories.clients.identity.instances import Instance

LEAST_NS = 1_000_000_000
"""Shortest silence that counts as a stall."""
DueKind = Literal["read", "heartbeat", "fetch", "records"]
"""What was due while a client was silent: reading of received data; a heartbeat; the next Fetch of a consumer that
otherwise fetches at once; records of a producer that otherwise sends all the time."""


@dataclass(frozen=True, slots=True)
class Due:
    """A heartbeat, Fetch, record or read that was due while a client was silent.

    due_ns: when it was first due; usual_ms: usual time between two of them, or between a response and the next Fetch;
    n_sent: number of records that a producer sent at once afterwards.
    """

    due_kind: DueKind
    due_ns: int
    usual_ms: int
    n_sent: int = 0


@dataclass(frozen=True, slots=True)
class AtMoment:
    """The silences of all connections of a client at one moment. begin_ns, end_ns: time in which all were silent."""

    silences: tuple[Silence, ...]
    begin_ns: int
    end_ns: int | None


def at_moment(instance: Instance, at_ns: int) -> AtMoment | None:
    """Returns the silences of the client's connections at a moment. None if one connection was not silent or its host
    did not acknowledge, or if the client's last request had failed, as it may wait before it retries."""
    silences = []
    for connection in instance.connections:
        silence = next((s for s in connection.silences if _covers(s, at_ns)), None)
        is_open = silence is not None and silence.last_ns is None
        if connection.first_ns <= at_ns and (at_ns <= connection.last_ns or is_open):
            if silence is None or not silence.acknowledged:
                return None
            silences.append(silence)
    last = max(silences, key=lambda s: s.first_ns, default=None)
    if last is None or last.failed:
        return None
    begin_ns = last.first_ns
    ends = [s.last_ns for s in silences if s.last_ns is not None and s.ended_by != "gave_up"]
    ends += [c.first_ns for c in instance.connections if c.first_ns > begin_ns]
    return AtMoment(tuple(silences), begin_ns, min(ends, default=None))


def _covers(silence: Silence, at_ns: int) -> bool:
    return silence.first_ns <= at_ns and (silence.last_ns is None or at_ns <= silence.last_ns)
