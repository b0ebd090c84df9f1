"""Stalls of clients: the process sent nothing on any of its connections although something was due, while its host's
kernel went on.

A client without work is idle, and a slow one still sends heartbeats. Heartbeats come from a separate thread or timer,
so if a group member has an overdue heartbeat and sends nothing at all, on connections that all work, its process does
not run: the process or its host was stopped, or a garbage collection or a handler blocks everything else. Without an
overdue heartbeat, other signs show a stall less surely (quiet_client). A cut network looks different: servers then
retransmit data that is not acknowledged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.cadences.verdicts import LATE_FACTOR, SLACK_MS
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.incidents.signals.quiet_client import quiet_times
from kafkascope_spark.stories.incidents.signals.silence_moments import LEAST_NS, AtMoment, Due, DueKind, at_moment
from kafkascope_spark.stories.incidents.signals.unread import Unread, unread_times
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.stage_rows import StageRow

_MS = 1_000_000
_LEAST_GAPS = 3
"""Fewest gaps between heartbeats, over all connections, that show the usual interval."""
_KERNEL_NS = 500_000_000
"""If the process never came back, an acknowledgment this long after its last payload shows that the host's kernel still
ran (a host may delay an acknowledgment by up to 500 ms, RFC 9293)."""


_NOT_YET = frozenset({api_keys.LEAVE_GROUP, api_keys.JOIN_GROUP, api_keys.FIND_COORDINATOR, api_keys.METADATA})
"""Requests after which a client is not a group member, or not yet."""


@dataclass(frozen=True, slots=True)
class SilentClient(StageRow):
    """A client that stalled.

    from_ns: its last payload on any connection; to_ns: its first packet afterwards, None where none came by the end of
    the capture; due_kind: what was due; due_ns: when it was first due; shown_ns: last time at which it is known to be
    missing; usual_ms: usual time between two of them, or between a response and the next Fetch; n_sent: number of
    records that a producer sent at once afterwards; n_connections: number of silent connections; packets, requests:
    those before and after the silence on each connection; claimed: whether the connections are encrypted, so that what
    was due is guessed from the lengths of requests.
    """

    client_instance_id: str
    client_id: str | None
    client_ip: str
    groups: tuple[str, ...]
    from_ns: int
    to_ns: int | None
    due_kind: DueKind
    due_ns: int
    shown_ns: int
    usual_ms: int
    n_sent: int
    n_connections: int
    packets: tuple[int, ...]
    requests: tuple[str, ...]
    claimed: bool = False


def silent_client_rows(instance: Instance, end_ns: int) -> Iterator[SilentClient]:
    """Yields the stalls of a client, in order of time. end_ns: end of the capture."""
    found = _without_heartbeats(instance, end_ns)
    for at, due in quiet_times(instance):
        found.setdefault(at.begin_ns, (at, due))
    silent = [_row(instance, at, due) for _, (at, due) in sorted(found.items())]
    unread = [_unread_row(instance, each) for each in unread_times(instance)]
    yield from sorted([*silent, *_without(unread, silent)], key=lambda row: row.from_ns)


def _without_heartbeats(instance: Instance, end_ns: int) -> dict[int, tuple[AtMoment, Due]]:
    """Returns the silences in which a heartbeat was overdue, by the begin of the silence."""
    found: dict[int, tuple[AtMoment, Due]] = {}
    interval_ms = _heartbeat_ms(instance)
    if interval_ms is None:
        return found
    allowed_ns = int(interval_ms * LATE_FACTOR + SLACK_MS) * _MS
    for silence in _owing(instance):
        late_ns = silence.first_ns + allowed_ns
        at = at_moment(instance, late_ns) if _until(silence, end_ns) > late_ns else None
        if at is not None and (at.end_ns or end_ns) >= max(late_ns, at.begin_ns + LEAST_NS) and _is_there(at):
            due = Due("heartbeat", at.begin_ns + interval_ms * _MS, interval_ms)
            found.setdefault(at.begin_ns, (at, due))
    return found


def _heartbeat_ms(instance: Instance) -> int | None:
    """Returns the usual time in ms between heartbeats of the client: the longer of the measured one and the one that
    its group set (KIP-848). None if too few heartbeats were seen."""
    measured = [m for c in instance.connections for m in c.cadences if m.cadence == "heartbeat"]
    set_ms = [c.heartbeat_interval_ms for c in instance.connections if c.heartbeat_interval_ms is not None]
    if not set_ms and sum(m.n for m in measured) < _LEAST_GAPS:
        return None
    return max([*set_ms, *(m.p50 for m in measured)], default=None)


def _owing(instance: Instance) -> Iterator[Silence]:
    """Yields the silences of connections that began while the client was a group member."""
    for connection in instance.connections:
        since_ns = connection.member_first_ns
        if since_ns is not None:
            yield from (s for s in connection.silences if s.first_ns >= since_ns and _is_member(s))


def _is_member(silence: Silence) -> bool:
    """Whether the client was still a group member after its last request before the silence. If that request failed, it
    may not be."""
    leaves = silence.api_key in api_keys.GROUP_HEARTBEATS and (silence.generation_or_epoch or 0) < 0
    return not silence.failed and not leaves and silence.api_key is not None and silence.api_key not in _NOT_YET


def _until(silence: Silence, end_ns: int) -> int:
    return end_ns if silence.last_ns is None else silence.last_ns


def _is_there(at: AtMoment) -> bool:
    """Whether the process went on afterwards, or at least its host's kernel did. A process that only closed its
    connections may have been about to stop."""
    if at.end_ns is None:
        return any(s.last_sent_ns - at.begin_ns >= _KERNEL_NS for s in at.silences)
    return any(s.ended_by == "data" for s in at.silences)


def _without(unread: Iterable[SilentClient], silent: Iterable[SilentClient]) -> Iterator[SilentClient]:
    """Yields the times in which the client did not read, without those in which it also sent nothing."""
    times = Stretches((row.from_ns, FOREVER if row.to_ns is None else row.to_ns, row) for row in silent)
    return (row for row in unread if not times.overlap(row.due_ns, FOREVER if row.to_ns is None else row.to_ns))


def _unread_row(instance: Instance, unread: Unread) -> SilentClient:
    return SilentClient(
        client_instance_id=instance.instance_id,
        client_id=instance.client_id,
        client_ip=instance.client_ip,
        groups=tuple(sorted(_groups(instance.connections))),
        from_ns=unread.from_ns,
        to_ns=unread.to_ns,
        due_kind="read",
        due_ns=unread.closed_ns,
        shown_ns=unread.shown_ns,
        usual_ms=0,
        n_sent=0,
        n_connections=unread.n_connections,
        packets=unread.packets,
        requests=(),
    )


def _row(instance: Instance, at: AtMoment, due: Due) -> SilentClient:
    ordered = sorted(at.silences, key=lambda s: (s.first_ns, s.first_packet_no))
    packets = {n for s in ordered for n in (s.first_packet_no, s.last_packet_no) if n}
    requests = [name for s in ordered for name in (s.request_id, s.next_request_id) if name is not None]
    return SilentClient(
        client_instance_id=instance.instance_id,
        client_id=instance.client_id,
        client_ip=instance.client_ip,
        groups=tuple(sorted(_groups(instance.connections))),
        from_ns=at.begin_ns,
        to_ns=at.end_ns,
        due_kind=due.due_kind,
        due_ns=due.due_ns,
        shown_ns=due.due_ns,
        usual_ms=due.usual_ms,
        n_sent=due.n_sent,
        n_connections=len(at.silences),
        packets=tuple(sorted(packets)),
        requests=tuple(dict.fromkeys(requests)),
        claimed=instance.is_encrypted,
    )


def _groups(connections: list[Connection]) -> set[str]:
    return set().union(*(c.groups for c in connections))
