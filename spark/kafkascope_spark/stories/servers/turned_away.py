"""State `turned_away`: a server accepted connections of a host and closed them at once, before it had sent anything, as
a broker does at its connection limit (max.connections.per.ip, max.connections), or a load balancer without a
backend."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_spark.stories.servers.record import Host, Lost, ServerRecord
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, patience_ns, stretches_by_host

_AT_ONCE_NS = 2 * SECOND_NS
_LEAST = 3
"""Fewest connections, one after the other, that are no coincidence."""


def turned_away_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """Returns the stretches, by host. others: stretches of states that take precedence."""
    explained = stretches_by_host(others)
    hosts: dict[str, list[Lost]] = defaultdict(list)
    for lost in sorted(server.lost, key=lambda each: each.began):
        if not explained[lost.host].cover(lost.ended.ts_ns):
            hosts[lost.host].append(lost)
    found = []
    for name, mine in hosts.items():
        host = server.hosts.get(name)
        if host is not None:
            found += [_stretch(server, host, away, served) for away, served in _runs(mine) if len(away) >= _LEAST]
    return found


def _runs(mine: Iterable[Lost]) -> Iterator[tuple[list[Lost], Lost | None]]:
    """Yields runs of connections of one host that were closed at once, each with the first one afterwards that was
    served, or None. A long time without an attempt ends a run."""
    away: list[Lost] = []
    for each in mine:
        if _is_turned_away(each):
            if away and each.began.ts_ns - away[-1].ended.ts_ns > patience_ns(
                away[0].ended.ts_ns, away[-1].ended.ts_ns
            ):
                yield away, None
                away = []
            away.append(each)
        elif away and each.accepted is not None and (each.served or each.kind == "accepted"):
            yield away, each
            away = []
    if away:
        yield away, None


def _patience_ns(away: list[Lost]) -> int:
    return patience_ns(away[0].ended.ts_ns, away[-1].ended.ts_ns)


def _is_turned_away(lost: Lost) -> bool:
    """Whether the server closed the connection without reading from it. A server that closes with unread data sends a
    RST (RFC 2525, section 2.17); a FIN after bytes of the host ends the connection because of these bytes."""
    if lost.kind not in CLOSED_BY_SERVER or lost.served or lost.accepted is None:
        return False
    if lost.kind == "fin_server" and lost.idle_ms is not None:
        return False
    return lost.ended.ts_ns - lost.accepted.ts_ns <= _AT_ONCE_NS


def _stretch(server: ServerRecord, host: Host, away: list[Lost], served: Lost | None) -> Stretch:
    """Returns the stretch from the first connection that was closed to the first that was served, if that comes soon
    enough for the host to have kept trying. When the state began is not known, because older connections continue."""
    moments = [each.ended for each in away]
    end = None if served is None else served.accepted
    if server.end_ns(end) - moments[-1].ts_ns > _patience_ns(away):
        end = moments[-1]
    begin = moments[0]
    since_ns = server.start_ns(host.first)
    return Stretch(host.host, "turned_away", begin, end, True, len(away), moments, lead_ns=begin.ts_ns - since_ns)
