"""When a client that is busy nearly all the time stopped for a while, though no heartbeat was overdue.

All its connections were silent at once, with nothing to wait for, and it went on afterwards. What shows that this was
not by choice: a consumer that otherwise fetches again as soon as it has a response did not, and then went on on all
connections at once; or a producer created no record meanwhile, and made and sent afterwards, at once, as many as it
would have. Whether its process was stopped, or only what keeps it busy (a handler, a source), packets do not show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.incidents.silence_moments import LEAST_NS, AtMoment, Due, at_moment
from kafkascope_spark.stories.model import CLOSED_BY_CLIENT, Connection

_MS = 1_000_000
_AT_ONCE_MS = 100
"""A consumer that most often takes no longer between a response and its next Fetch fetches at once."""
_LEAST_ROUNDS = 20
"""So many rounds of the loop for each silence show that a silence is an exception."""
_TOGETHER_NS = 500_000_000
"""A stopped process goes on on its connections within so much of each other; one that only fetched late sent
heartbeats meanwhile."""
_LEAST_RECORDS, _CAUGHT_UP = 8, 0.75
"""A producer makes up for a silence when so much of what it sent in as long a time before comes in a quarter of that
time afterwards, three times as much as usual; fewer records may do so by chance."""
_RECOVERS_NS = 10_000_000_000
"""For so long after it lost a connection a client may still wait before it tries again what failed."""
_LOOKUPS = frozenset({api_keys.METADATA, api_keys.FIND_COORDINATOR, api_keys.JOIN_GROUP, api_keys.SYNC_GROUP})
_FETCHES = frozenset({api_keys.FETCH, api_keys.SHARE_FETCH})


def quiet_times(instance: Instance) -> Iterator[tuple[AtMoment, Due]]:
    """When the client was quiet, with what was due."""
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
    """A time in which a consumer that otherwise fetches at once did not. answered_ns: since when it had all that it had
    asked for; usual_ms: its usual time between a response and the next Fetch; to_ns: its next Fetch on node_id."""

    answered_ns: int
    usual_ms: int
    to_ns: int
    node_id: int | None
    request_id: str | None
    next_request_id: str | None


def late_fetches(instance: Instance) -> Iterator[LateFetch]:
    """The times in which all connections of the client were silent and a Fetch was due, until the first that went on
    to fetch, also where it recovered from a failure."""
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
    """Whether the client was quiet for long, nothing had failed before, and it worked on for some time: one that closes
    stops working first, and one that recovers waits before it tries again."""
    if at.end_ns is None or at.end_ns - _answered_ns(at) < LEAST_NS or any(s.failed for s in at.silences):
        return False
    if _is_recovering(instance, at):
        return False
    last_ns = max((c.last_request_ns for c in instance.connections if c.last_request_ns is not None), default=0)
    return last_ns - at.end_ns >= LEAST_NS


def _is_recovering(instance: Instance, at: AtMoment) -> bool:
    """Whether the client had looked for leaders or coordinators, or joined its group, just before, or lost connections
    a short time ago."""
    if any(s.api_key in _LOOKUPS and at.begin_ns - s.first_ns <= LEAST_NS for s in at.silences):
        return True
    lost = (c for c in instance.connections if c.close_ns is not None and c.close_kind not in CLOSED_BY_CLIENT)
    return any(at.begin_ns - _RECOVERS_NS <= (c.close_ns or 0) <= (at.end_ns or 0) for c in lost)


def _answered_ns(at: AtMoment) -> int:
    """Since when the client had all it had asked for."""
    return max(max(s.answered_ns, s.first_ns) for s in at.silences)


def _due(instance: Instance, at: AtMoment) -> Due | None:
    """What was due: a Fetch, else records; None where neither is known."""
    for connection in instance.connections:
        usual_ms = _fetches_again_ms(connection)
        late = [s for s in connection.silences if s in at.silences and _is_late_fetch(s, at)]
        if late and usual_ms is not None and (not instance.is_encrypted or _fetches_everywhere_at_once(at)):
            return Due("fetch", _answered_ns(at) + usual_ms * _MS, usual_ms)
    ended = [s for s in at.silences if s.ended_by == "data" and s.last_ns is not None]
    n_before, n_after = sum(s.n_sent_before for s in ended), sum(s.n_sent_after for s in ended)
    if n_before < _LEAST_RECORDS or n_after < _CAUGHT_UP * n_before or not _made_nothing(ended):
        return None
    usual_ns = max((s.last_ns or 0) - s.first_ns for s in ended) // n_before
    return Due("records", at.begin_ns + usual_ns, usual_ns // _MS, n_after)


def _made_nothing(silences: Iterable[Silence]) -> bool:
    """Whether no record was created in the silences: a client that collects records before it sends them (linger)
    creates some."""
    made = [s.n_made_meanwhile for s in silences if s.n_sent_before + s.n_sent_after > 0]
    return None not in made and not any(made)


def _fetches_again_ms(connection: Connection) -> int | None:
    """The usual time between a response and the next Fetch on the connection; None where that is not at once, or the
    client was silent there too often for it to be usual."""
    measured = next((c for c in connection.cadences if c.cadence == "poll_gap"), None)
    if measured is None or measured.p50 > _AT_ONCE_MS or measured.n < _LEAST_ROUNDS * len(connection.silences):
        return None
    return max(measured.p50, 0)


def _is_late_fetch(silence: Silence, at: AtMoment) -> bool:
    """Whether a Fetch was due on the connection, and its client went on there when it did elsewhere."""
    return _is_fetch(silence) and (silence.last_ns or 0) - (at.end_ns or 0) <= _TOGETHER_NS


def _fetches_everywhere_at_once(at: AtMoment) -> bool:
    """Whether the client went on at once on all connections on which it had fetched. A stopped process does; one that
    waited because leaders moved looks for them first, and goes on connection by connection. Where requests cannot be
    read, errors and lookups do not tell the two apart."""
    assert at.end_ns is not None
    ends = [s.last_ns for s in at.silences if _is_fetch(s) and s.last_ns is not None]
    return max(ends, default=at.end_ns) - at.end_ns <= _AT_ONCE_MS * _MS


def _is_fetch(silence: Silence) -> bool:
    """Whether the client had fetched before the silence, and sent something after it."""
    return silence.api_key in _FETCHES and silence.ended_by == "data" and silence.last_ns is not None
