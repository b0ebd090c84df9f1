"""Pauses of a client that is otherwise always busy, without an overdue heartbeat.

All connections of the client were silent at the same time, it waited for no response, and it went on afterwards. The
pause was not intended if a consumer that otherwise fetches as soon as it has a response did not, and then went on on
all connections at once; or if a producer created no record in the pause, and afterwards created and sent at once as
many as it usually would have. Packets do not show whether the process was stopped, or only the part that keeps the
client busy (a handler, a source).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.incidents.signals.silence_moments import LEAST_NS, AtMoment, Due, at_moment
from kafkascope_spark.stories.model import Connection

_MS = 1_000_000
_AT_ONCE_MS = 100
"""A consumer fetches at once if its median time between a response and the next Fetch is not longer than this."""
_LEAST_ROUNDS = 20
"""Fewest fetches per silence that make a silence an exception."""
_TOGETHER_NS = 500_000_000
"""A stopped process goes on on all its connections within this time; a process that only fetched late would have sent
heartbeats."""
_LEAST_RECORDS, _CAUGHT_UP = 8, 0.75
"""A producer catches up after a silence if it sends, in a quarter of the length of the silence, this share of the
records that it sent in the same length before: three times its usual rate. With fewer than _LEAST_RECORDS records that
may happen by chance."""
_LEAST_PACE_NS = 3_000_000_000
"""The pace at which a producer sends records is known when its connections are this old."""
_RECOVERS_NS = 10_000_000_000
"""Time after the loss of a connection in which a client may still wait before it retries."""
_LOOKUPS = frozenset({api_keys.METADATA, api_keys.FIND_COORDINATOR, api_keys.JOIN_GROUP, api_keys.SYNC_GROUP})
_FETCHES = frozenset({api_keys.FETCH, api_keys.SHARE_FETCH})


def quiet_times(instance: Instance) -> Iterator[tuple[AtMoment, Due]]:
    """Yields the pauses of the client, each with what was due."""
    begins: set[int] = set()
    for silence in (s for c in instance.connections for s in c.silences):
        at = at_moment(instance, silence.answered_ns)
        if at is not None and at.begin_ns not in begins and _went_on(instance, at):
            begins.add(at.begin_ns)
            due = _due(instance, at)
            if due is not None:
                yield at, due


@dataclass(frozen=True, slots=True)
class LateFetch:
    """A pause of a consumer that otherwise fetches at once. answered_ns: when it had all its responses; usual_ms: its
    usual time between a response and the next Fetch; to_ns: its next Fetch to node_id."""

    answered_ns: int
    usual_ms: int
    to_ns: int
    node_id: int | None
    request_id: str | None
    next_request_id: str | None


def late_fetches(instance: Instance) -> Iterator[LateFetch]:
    """Yields the times in which all connections of the client were silent and a Fetch was due, each until the first
    Fetch on any connection. Times in which the client recovered from a failure are included."""
    for connection in instance.connections:
        usual_ms = _fetches_again_ms(connection)
        for silence in filter(_is_fetch, connection.silences) if usual_ms is not None else ():
            assert usual_ms is not None
            assert silence.last_ns is not None
            at = at_moment(instance, (silence.answered_ns + silence.last_ns) // 2)
            if at is None or silence.last_ns > min(s.last_ns or silence.last_ns for s in at.silences if _is_fetch(s)):
                continue
            if silence.last_ns - _answered_ns(at) >= LEAST_NS:
                ids = silence.request_id, silence.next_request_id
                yield LateFetch(_answered_ns(at), usual_ms, silence.last_ns, connection.node_id, *ids)


def _went_on(instance: Instance, at: AtMoment) -> bool:
    """Whether the client was quiet for LEAST_NS at least, no request had failed before, and it worked on for some time
    afterwards. A client that is closing stops first, and one that recovers waits before it retries."""
    if at.end_ns is None or at.end_ns - _answered_ns(at) < LEAST_NS or any(s.failed for s in at.silences):
        return False
    if _is_recovering(instance, at):
        return False
    last_ns = max((c.last_request_ns for c in instance.connections if c.last_request_ns is not None), default=0)
    return last_ns - at.end_ns >= LEAST_NS


def _is_recovering(instance: Instance, at: AtMoment) -> bool:
    """Whether the client looked up leaders or coordinators or joined its group just before the silence, or lost
    connections shortly before."""
    if any(s.api_key in _LOOKUPS and at.begin_ns - s.first_ns <= LEAST_NS for s in at.silences):
        return True
    lost = (c for c in instance.connections if c.close_ns is not None and c.close_kind not in CLOSED_BY_CLIENT)
    return any(at.begin_ns - _RECOVERS_NS <= (c.close_ns or 0) <= (at.end_ns or 0) for c in lost)


def _answered_ns(at: AtMoment) -> int:
    """Returns when the client had all its responses."""
    return max(max(s.answered_ns, s.first_ns) for s in at.silences)


def _due(instance: Instance, at: AtMoment) -> Due | None:
    """Returns what was due: a Fetch, else records; None if neither is known. The pace of records of a client that has
    just started is not known: it may wait until it knows the leaders of all partitions."""
    for connection in instance.connections:
        usual_ms = _fetches_again_ms(connection)
        late = [s for s in connection.silences if s in at.silences and _is_late_fetch(s, at)]
        if late and usual_ms is not None and (not instance.is_encrypted or _fetches_everywhere_at_once(at)):
            return Due("fetch", _answered_ns(at) + usual_ms * _MS, usual_ms)
    if at.begin_ns - min(c.begin_ns for c in instance.connections) < _LEAST_PACE_NS:
        return None
    ended = [s for s in at.silences if s.ended_by == "data" and s.last_ns is not None]
    n_before, n_after = sum(s.n_sent_before for s in ended), sum(s.n_sent_after for s in ended)
    if n_before < _LEAST_RECORDS or n_after < _CAUGHT_UP * n_before or not _made_nothing(ended):
        return None
    usual_ns = max((s.last_ns or 0) - s.first_ns for s in ended) // n_before
    return Due("records", at.begin_ns + usual_ns, usual_ns // _MS, n_after)


def _made_nothing(silences: Iterable[Silence]) -> bool:
    """Whether no record was created in the silences. A client that only collects records before it sends them
    (linger.ms) creates some."""
    made = [s.n_made_meanwhile for s in silences if s.n_sent_before + s.n_sent_after > 0]
    return None not in made and not any(made)


def _fetches_again_ms(connection: Connection) -> int | None:
    """Returns the median time in ms between a response and the next Fetch on the connection; None if that is longer
    than _AT_ONCE_MS, or if silences are too frequent there."""
    measured = next((c for c in connection.cadences if c.cadence == "poll_gap"), None)
    if measured is None or measured.p50 > _AT_ONCE_MS or measured.n < _LEAST_ROUNDS * len(connection.silences):
        return None
    return max(measured.p50, 0)


def _is_late_fetch(silence: Silence, at: AtMoment) -> bool:
    """Whether a Fetch was due on the connection, and the client went on there at the same time as elsewhere."""
    return _is_fetch(silence) and (silence.last_ns or 0) - (at.end_ns or 0) <= _TOGETHER_NS


def _fetches_everywhere_at_once(at: AtMoment) -> bool:
    """Whether the client went on at the same time on all connections on which it had fetched. A stopped process does; a
    client that waited because leaders moved looks them up first and goes on connection by connection. This is needed if
    requests are encrypted, because errors and lookups are not known then."""
    assert at.end_ns is not None
    ends = [s.last_ns for s in at.silences if _is_fetch(s) and s.last_ns is not None]
    return max(ends, default=at.end_ns) - at.end_ns <= _AT_ONCE_MS * _MS


def _is_fetch(silence: Silence) -> bool:
    """Whether the client fetched before the silence and sent data after it."""
    return silence.api_key in _FETCHES and silence.ended_by == "data" and silence.last_ns is not None
