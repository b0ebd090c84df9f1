"""When a server refused the connections of a host while it served others, or older connections of the host."""

from bisect import bisect_right
from collections import defaultdict

from kafkascope_spark.broker_states.record import Lost, Moment, ServerRecord
from kafkascope_spark.broker_states.stretch import SOON_NS, Stretch, patience_ns, stretches_by_host


def refusing_stretches(server: ServerRecord, down: list[Stretch]) -> list[Stretch]:
    """The stretches in which the server refused a host. down: those in which it was down, which come first."""
    hosts: dict[str, list[Lost]] = defaultdict(list)
    down_to = stretches_by_host(down)
    for lost in sorted(server.lost, key=lambda each: each.ended):
        if not down_to[lost.host].cover(lost.ended.ts_ns):
            hosts[lost.host].append(lost)
    return [stretch for lost in hosts.values() for stretch in _of_host(server, lost)]


def _of_host(server: ServerRecord, lost: list[Lost]) -> list[Stretch]:
    """The stretches of one host: refused connections without an accepted one between them."""
    found = []
    accepted = sorted(each.accepted for each in lost if each.accepted is not None)
    refused: list[Lost] = []
    for each in lost:
        if each.kind != "refused":
            continue
        over = _next(accepted, refused[-1]) if refused else None
        if over is not None and over < each.began:
            found.append(_stretch(server, lost, refused, over))
            refused = []
        refused.append(each)
    if refused:
        found.append(_stretch(server, lost, refused, _next(accepted, refused[-1])))
    return found


def _next(accepted: list[Moment], lost: Lost) -> Moment | None:
    """The first connection that was accepted after one was lost."""
    at = bisect_right(accepted, lost.ended)
    return accepted[at] if at < len(accepted) else None


def _stretch(server: ServerRecord, lost: list[Lost], refused: list[Lost], accepted: Moment | None) -> Stretch:
    first, last = refused[0].ended, refused[-1].ended
    reset = [s.ended for s in lost if s.kind == "rst_server" and first.ts_ns - SOON_NS <= s.ended.ts_ns <= last.ts_ns]
    begin = min([first, *reset])
    end = accepted
    if server.end_ns(accepted) - last.ts_ns > patience_ns(first.ts_ns, last.ts_ns):
        end = last
    moments = [*reset, *(each.ended for each in refused)]
    return Stretch(refused[0].host, "refusing", begin, end, end is not None and end == accepted, len(moments), moments)
