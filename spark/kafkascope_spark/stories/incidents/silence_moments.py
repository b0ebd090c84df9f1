"""What all connections of a client did at one moment, where it was silent on each of them, and what was due then."""

from dataclasses import dataclass
from typing import Literal

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_spark.stories.clients.identity.instances import Instance

LEAST_NS = 1_000_000_000
"""A client that is silent for less does not count as stalled."""
Owed = Literal["read", "heartbeat", "fetch", "records"]
"""What was due while a client was silent: that it reads what had come for it; a heartbeat; the next Fetch of one that
otherwise fetches again at once; the records of one that otherwise sends some all the time."""


@dataclass(frozen=True, slots=True)
class Due:
    """What was due while a client was silent.

    due_ns: when it was due first; usual_ms: the usual time between two of these, or between a response and the next
    Fetch; n_sent: records that came at once afterwards, of a producer.
    """

    owed: Owed
    due_ns: int
    usual_ms: int
    n_sent: int = 0


@dataclass(frozen=True, slots=True)
class AtMoment:
    """What the connections of a client did at one moment: the silences that cover it."""

    silences: tuple[Silence, ...]
    begin_ns: int
    end_ns: int | None


def at_moment(instance: Instance, at_ns: int) -> AtMoment | None:
    """What the connections of the client did at a moment; None where the client, or its host, was not silent then, or
    its last request had failed: it may wait for a while before it tries again."""
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
