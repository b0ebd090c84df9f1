"""State `refusing`: a server refused new connections of a host while it served others, or older connections of the
host."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import Lost, ServerRecord
from kafkascope_spark.stories.servers.stretch import SECOND_NS, SOON_NS, Stretch, patience_ns, stretches_by_host


@dataclass(frozen=True, slots=True)
class _Refusals:
    """Consecutive refused connections of one host, in order of time. accepted: the first one that was accepted
    afterwards, None if none was, or if others were accepted long before."""

    host: str
    refused: tuple[Lost, ...]
    accepted: Moment | None

    @property
    def begin(self) -> Moment:
        """When the first was refused."""
        return self.refused[0].ended

    @property
    def last(self) -> Moment:
        """When the last was refused."""
        return self.refused[-1].ended


def refusing_stretches(server: ServerRecord, down: list[Stretch]) -> list[Stretch]:
    """Returns the stretches in which the server refused a host. down: stretches in which it was down, which take
    precedence."""
    hosts: dict[str, list[Lost]] = defaultdict(list)
    down_to = stretches_by_host(down)
    for lost in sorted(server.lost, key=lambda each: each.ended):
        if not down_to[lost.host].cover(lost.ended.ts_ns):
            hosts[lost.host].append(lost)
    refusals = [each for host, mine in hosts.items() for each in _between_accepted(host, mine)]
    reopened = _reopened(refusals)
    return [stretch for each in refusals for stretch in _stretches(server, hosts[each.host], each, reopened)]


def _between_accepted(host: str, lost: list[Lost]) -> list[_Refusals]:
    """Returns the refused connections of one host in groups, divided by accepted ones."""
    found = []
    accepted = sorted(each.accepted for each in lost if each.accepted is not None)
    refused: list[Lost] = []
    for each in lost:
        if each.kind != "refused":
            continue
        over = _next(accepted, refused[-1]) if refused else None
        if over is not None and over < each.began:
            found.append(_Refusals(host, tuple(refused), over))
            refused = []
        refused.append(each)
    if refused:
        found.append(_Refusals(host, tuple(refused), _next(accepted, refused[-1])))
    return found


def _next(accepted: list[Moment], lost: Lost) -> Moment | None:
    """Returns the first connection that was accepted after one was lost; None if there is none."""
    at = bisect_right(accepted, lost.ended)
    return accepted[at] if at < len(accepted) else None


def _reopened(refusals: list[_Refusals]) -> dict[Moment, Moment]:
    """Returns, by moment of a refusal, when the server next accepted a connection of a host that it had refused.
    Refusals after which it accepted none are left out."""
    begun = sorted(refusals, key=lambda each: each.begin)
    found: dict[Moment, Moment] = {}
    n_begun, accepted = 0, list[Moment]()
    for at in sorted(each.ended for of_host in refusals for each in of_host.refused):
        while n_begun < len(begun) and begun[n_begun].begin <= at:
            over = begun[n_begun].accepted
            if over is not None:
                heappush(accepted, over)
            n_begun += 1
        while accepted and accepted[0] <= at:
            heappop(accepted)
        if accepted:
            found[at] = accepted[0]
    return found


def _stretches(
    server: ServerRecord, lost: list[Lost], refusals: _Refusals, reopened: dict[Moment, Moment]
) -> list[Stretch]:
    """Returns the stretches of one group of refusals. The group is divided if the server accepted other refused hosts
    again while this host made no attempt. lost: all connections of the host."""
    found = []
    refused: list[Lost] = []
    for place, each in enumerate(refusals.refused, 1):
        refused.append(each)
        next_try = refusals.refused[place].began if place < len(refusals.refused) else refusals.accepted
        over = reopened.get(each.ended)
        if over is not None and server.end_ns(next_try) - over.ts_ns > SOON_NS:
            found.append(_stretch(server, lost, _Refusals(refusals.host, tuple(refused), None), over))
            refused = []
    if refused:
        rest = _Refusals(refusals.host, tuple(refused), refusals.accepted)
        end = refusals.accepted
        if server.end_ns(end) - rest.last.ts_ns > patience_ns(refusals.begin.ts_ns, rest.last.ts_ns):
            end = rest.last
        found.append(_stretch(server, lost, rest, end))
    return found


def _stretch(server: ServerRecord, lost: list[Lost], refusals: _Refusals, end: Moment | None) -> Stretch:
    """Returns a stretch. If no older connection was reset, the server may have refused new ones since it last accepted
    one."""
    refused = [each.ended for each in refusals.refused]
    from_ns, to_ns = refused[0].ts_ns - SOON_NS, refused[-1].ts_ns
    reset = [s.ended for s in lost if s.kind == "rst_server" and from_ns <= s.ended.ts_ns <= to_ns]
    moments = [*reset, *refused]
    resumed = end is not None and end == refusals.accepted
    begin = min(moments)
    lead_ns = SECOND_NS if reset else begin.ts_ns - server.last_accepted_ns(refusals.host, begin)
    return Stretch(refusals.host, "refusing", begin, end, resumed, len(moments), moments, lead_ns=lead_ns)
