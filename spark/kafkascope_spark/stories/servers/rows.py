"""Makes the states of one server: bad stretches, and the states between them."""

from collections.abc import Iterator

from kafkascope_spark.stories.servers.dead_flow import dead_flow_stretches, with_forgotten
from kafkascope_spark.stories.servers.delayed import delayed_stretches
from kafkascope_spark.stories.servers.down import down_stretches, idle_stretches
from kafkascope_spark.stories.servers.flows_lost import flows_lost_stretches
from kafkascope_spark.stories.servers.frozen import frozen_stretches
from kafkascope_spark.stories.servers.host_silent import host_silent_stretches
from kafkascope_spark.stories.servers.host_slow import host_slow_stretches
from kafkascope_spark.stories.servers.lossy import lossy_stretches, without_lossy
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.mtu import mtu_stretches, with_lost_bytes
from kafkascope_spark.stories.servers.not_accepting import not_accepting_stretches
from kafkascope_spark.stories.servers.not_reading import not_reading_stretches
from kafkascope_spark.stories.servers.record import Host, ServerRecord
from kafkascope_spark.stories.servers.refusing import refusing_stretches
from kafkascope_spark.stories.servers.silent import silent_stretches
from kafkascope_spark.stories.servers.slow import slow_stretches, without_absent
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, by_host, without
from kafkascope_spark.stories.servers.table import BrokerState, Unacknowledged
from kafkascope_spark.stories.servers.turned_away import turned_away_stretches

_MOST_EVIDENCE = 32
_UNACKNOWLEDGED: dict[frozenset[str], Unacknowledged] = {
    frozenset({"packet"}): "host",
    frozenset({"delivery"}): "broker",
    frozenset({"packet", "delivery"}): "both",
}
"""Layers of the waits that show a state -> the side whose packets were not acknowledged."""
_OF_ACKNOWLEDGMENTS = frozenset({"silent", "delayed"})


def states_of(server: ServerRecord) -> Iterator[BrokerState]:
    """Yields the states of a server, host by host, in order of time. Bad stretches in which the clock was set back are
    left out, because their length is not known."""
    down = down_stretches(server)
    absent = host_silent_stretches(server)
    mtu = mtu_stretches(server)
    delayed = list(without(delayed_stretches(server), down + absent + mtu))
    # These explain waits for the next long packet, or for a packet in flight.
    silent = list(with_forgotten(server, without(_of_servers(silent_stretches(server, down), absent), mtu + delayed)))
    silent = [with_lost_bytes(server, each) for each in silent]
    frozen = frozen_stretches(server, down + silent)
    frozen += not_reading_stretches(server, down + silent + frozen + absent + mtu)
    lossy = list(without(lossy_stretches(server, down + silent + frozen + absent + mtu), delayed))
    bad = (
        down
        + absent
        + mtu
        + delayed
        + list(without_lossy(silent, lossy))
        + lossy
        + refusing_stretches(server, down)
        + frozen
    )
    bad += turned_away_stretches(server, bad)
    bad += not_accepting_stretches(server, bad)
    bad += without_absent(slow_stretches(server, bad), absent)
    bad += dead_flow_stretches(server, bad)
    bad += flows_lost_stretches(server, list(bad))
    bad += host_slow_stretches(server, list(bad))
    bad += idle_stretches(server, down)
    of_hosts = by_host(stretch for stretch in bad if not stretch.goes_back)
    for name, host in sorted(server.hosts.items()):
        for stretch in _with_rest(server, host, _apart(of_hosts.get(name, []))):
            yield _state(server, host, stretch)


def _of_servers(silent: list[Stretch], absent: list[Stretch]) -> Iterator[Stretch]:
    """Yields the silent stretches without those in which a host acknowledged nothing because it sent nothing to any
    server (absent)."""
    yield from (each for each in silent if "packet" in each.layers)
    yield from without((each for each in silent if "packet" not in each.layers), absent)


def _apart(stretches: list[Stretch]) -> list[Stretch]:
    """Returns the stretches of one host in order of time, without overlaps; the one that began first stays. A silent
    stretch is dropped if no packet shows it after that: TCP only waits for its next retransmission."""
    kept: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda each: (each.begin, each.state)):
        last = kept[-1] if kept else None
        if last is not None and (last.end is None or (stretch.end is not None and stretch.end <= last.end)):
            last.layers |= stretch.layers
            last.unread_ns = max(last.unread_ns, stretch.unread_ns)
            continue
        if last is not None and last.end is not None and _is_shown_only_before(last.end, stretch):
            continue
        if last is not None and last.end is not None and stretch.begin < last.end:
            stretch.begin = last.end
        if last is not None and last.end is not None and _continues(last, stretch):
            last.join(stretch)
        else:
            kept.append(stretch)
    return kept


def _is_shown_only_before(moment: Moment, stretch: Stretch) -> bool:
    """Whether the stretch is silent, and all packets that show it came before a moment."""
    shown_ns = stretch.last_shown_ns
    return stretch.state == "silent" and shown_ns is not None and shown_ns <= moment.ts_ns


def _continues(last: Stretch, stretch: Stretch) -> bool:
    """Whether a silent stretch continues: the packets that the server still sent did not end the wait for it."""
    is_silent = last.state == stretch.state == "silent"
    return is_silent and last.end is not None and stretch.begin.ts_ns - last.end.ts_ns <= SECOND_NS


def _with_rest(server: ServerRecord, host: Host, bad: list[Stretch]) -> Iterator[Stretch]:
    """Yields the bad stretches of a host, and the serving and unknown stretches between them."""
    at, serves = host.first, True
    for stretch in bad:
        yield from _between(server, host, at, stretch.begin, serves)
        yield stretch
        at, serves = stretch.end, stretch.resumed
    if at is not None:
        yield from _between(server, host, at, None, serves)


def _between(
    server: ServerRecord, host: Host, begin: Moment | None, end: Moment | None, serves: bool
) -> Iterator[Stretch]:
    """Yields the stretches between two bad ones: unknown until the next packet, then serving."""
    if begin is None or (end is not None and end.ts_ns <= begin.ts_ns):
        return
    if not serves:
        seen = server.runs("host", "packet", host.host).after(begin.ts_ns + 1)
        if seen is not None and end is not None and seen.ts_ns >= end.ts_ns:
            seen = None
        unknown_end = end if seen is None else seen
        yield Stretch(host.host, "unknown", begin, unknown_end, False, 0)
        if seen is None:
            return
        begin = seen
    yield Stretch(host.host, "serving", begin, end, True, 0)


def _state(server: ServerRecord, host: Host, stretch: Stretch) -> BrokerState:
    end = stretch.end
    shown = [m for m in stretch.moments if m >= stretch.begin and (end is None or m <= end)] or [stretch.begin]
    moments = [stretch.begin, *stretch.moments, *([] if end is None else [end])]
    packets = list(dict.fromkeys(moment.packet_no for moment in sorted(moments) if moment.packet_no))
    if len(packets) > _MOST_EVIDENCE:
        packets = [*packets[: _MOST_EVIDENCE - 1], packets[-1]]
    return BrokerState(
        node_id=server.node_id,
        server_ip=server.server_ip,
        server_port=server.server_port,
        host=host.host,
        host_kind=host.kind,
        state=stretch.state,
        unacknowledged=_UNACKNOWLEDGED.get(frozenset(stretch.layers)) if stretch.state in _OF_ACKNOWLEDGMENTS else None,
        from_ns=stretch.begin.ts_ns,
        to_ns=None if end is None else end.ts_ns,
        before_ns=max(stretch.begin.ts_ns - stretch.lead_ns, min(stretch.begin.ts_ns, server.capture_ns[0])),
        shown_from_ns=min(shown).ts_ns,
        shown_to_ns=max(shown).ts_ns if stretch.last_shown_ns is None else stretch.last_shown_ns,
        after_ns=None if end is None else min(end.ts_ns + stretch.lag_ns, max(end.ts_ns, server.capture_ns[1])),
        times_usual=stretch.times_usual,
        late_ms=stretch.late_ms,
        n_waiting=stretch.n_waiting,
        packets=tuple(packets),
        requests=tuple(request_id for _, request_id in sorted(stretch.requests))[:_MOST_EVIDENCE],
        shown_packet_no=min(shown).packet_no or None,
        lost_bytes=stretch.lost_bytes,
        is_to_all=stretch.is_to_all,
        unread_ms=stretch.unread_ns // 1_000_000,
    )
