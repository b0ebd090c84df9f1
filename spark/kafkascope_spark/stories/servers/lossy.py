"""State `lossy`: packets between a server and a host were repeatedly lost, and arrived after a retransmission.

Ingest finds lost packets (event packet_loss). It cannot do so if hosts do not report duplicates; then several
waits show the loss in which one side retransmitted for longer than half a second.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketLoss
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, by_host, possible_pause_ns, stretches_by_host

_ARRIVED = frozenset({"ack", "data", "syn_ack"})
_LAYERS = frozenset({"packet", "delivery"})
_RETRY_NS = 100_000_000
"""A retransmission comes 200 ms later at the earliest; half of that is the limit."""
_LEAST_LOSSES = 3
"""Fewest losses, one after the other, that are no coincidence."""
_APART_NS = 5 * SECOND_NS
"""Losses that are further apart than this are separate stretches."""
_LEAST_SEGMENTS = 5
MOST_TRIES = 2
"""Largest mean number of transmissions per segment of a partial loss: if everything is lost, each segment is sent many
times."""


@dataclass(frozen=True, slots=True)
class _Loss:
    """A wait that ended when the retransmitted data arrived."""

    wait: Wait
    until: Moment


def lossy_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """Returns the stretches in which packets were lost, by host. others: stretches of states in which nothing arrives,
    which take precedence."""
    others = list(others)
    found = _known(server, stretches_by_host(others))
    explained = stretches_by_host([*others, *found])
    losses: dict[str, list[_Loss]] = defaultdict(list)
    for wait in server.waits:
        loss = _loss(wait)
        if loss is not None and not explained[wait.host].overlap(wait.asked.ts_ns, loss.until.ts_ns):
            losses[wait.host].append(loss)
    by_waits = [_stretch(host, near) for host, mine in losses.items() for near in _near(mine) if _is_repeated(near)]
    return found + by_waits


def _known(server: ServerRecord, explained: Mapping[str, Stretches[Stretch]]) -> list[Stretch]:
    """Returns the stretches of losses that ingest found. Losses of both directions, and losses with a short pause
    between them, are one stretch."""
    found: list[Stretch] = []
    for loss in sorted(filter(_is_partial, server.losses), key=attrgetter("host", "first_ns")):
        begin, end = first_of(loss), last_of(loss)
        if any(_covers(other, begin, end) for other in explained[loss.host].meeting(begin.ts_ns, end.ts_ns)):
            continue
        pause_ns = possible_pause_ns(loss.n_bursts, loss.last_ns - loss.first_ns)
        stretch = Stretch(loss.host, "lossy", begin, end, True, loss.n_connections, [begin, end], lead_ns=pause_ns)
        stretch.lag_ns, stretch.last_shown_ns = pause_ns, loss.lost_ns
        last = found[-1] if found else None
        if last is not None and last.host == loss.host and begin.ts_ns <= _end_ns(last) + _APART_NS:
            stretch.end = max(end, last.end or end)
            stretch.last_shown_ns = max(loss.lost_ns, last.last_shown_ns or 0)
            last.join(stretch)
        else:
            found.append(stretch)
    return found


def _covers(other: Stretch, begin: Moment, end: Moment) -> bool:
    return other.begin <= begin and (other.end is None or end <= other.end)


def _end_ns(stretch: Stretch) -> int:
    return FOREVER if stretch.end is None else stretch.end.ts_ns


def _is_partial(loss: PacketLoss) -> bool:
    """Whether only some packets were lost, and not in a single burst."""
    is_repeated = loss.n_bursts > 1 and loss.n_segments >= _LEAST_SEGMENTS
    return is_repeated and loss.n_lost <= MOST_TRIES * loss.n_segments


def without_lossy(silent: Iterable[Stretch], lossy: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the silent stretches that are not part of a lossy one. A shorter silence next to a lossy stretch is a
    longer loss and is joined with it."""
    of_hosts = by_host(lossy)
    for stretch in silent:
        beside = next((each for each in of_hosts[stretch.host] if _is_part(stretch, each)), None)
        if beside is None:
            yield stretch
            continue
        assert stretch.end is not None
        assert beside.end is not None
        beside.begin, beside.end = min(beside.begin, stretch.begin), max(beside.end, stretch.end)
        beside.moments += stretch.moments
        beside.requests += stretch.requests


def _is_part(silent: Stretch, lossy: Stretch) -> bool:
    if silent.end is None or lossy.end is None:
        return False
    is_shorter = silent.end.ts_ns - silent.begin.ts_ns < lossy.end.ts_ns - lossy.begin.ts_ns
    is_near = silent.begin.ts_ns <= lossy.end.ts_ns + _APART_NS and lossy.begin.ts_ns <= silent.end.ts_ns + _APART_NS
    return is_shorter and is_near


def _loss(wait: Wait) -> _Loss | None:
    if wait.layer not in _LAYERS or wait.until is None or wait.ended_by not in _ARRIVED:
        return None
    was_sent_again = wait.last_asked.ts_ns - wait.asked.ts_ns >= _RETRY_NS
    return _Loss(wait, wait.until) if was_sent_again else None


def _near(losses: list[_Loss]) -> Iterator[list[_Loss]]:
    """Yields groups of losses of a host with long pauses between the groups, in order of time."""
    group: list[_Loss] = []
    end = 0
    for loss in sorted(losses, key=lambda each: each.wait.asked):
        if group and loss.wait.asked.ts_ns > end + _APART_NS:
            yield group
            group = []
        group.append(loss)
        end = max(end, loss.until.ts_ns)
    if group:
        yield group


def _is_repeated(losses: list[_Loss]) -> bool:
    """Whether enough of the losses came one after the other. Simultaneous waits of several connections have one
    reason. If only attempts to connect were repeated, it is the server that did not accept them."""
    if all(loss.wait.ended_by == "syn_ack" for loss in losses):
        return False
    n, end = 0, 0
    for loss in losses:
        if loss.wait.asked.ts_ns > end:
            n += 1
        end = max(end, loss.until.ts_ns)
    return n >= _LEAST_LOSSES


def _stretch(host: str, losses: list[_Loss]) -> Stretch:
    moments = [moment for loss in losses for moment in (loss.wait.asked, loss.wait.last_asked)]
    n = len({loss.wait.conn_id for loss in losses})
    begin, end = losses[0].wait.asked, max(loss.until for loss in losses)
    pause_ns = possible_pause_ns(len(losses), end.ts_ns - begin.ts_ns)
    return Stretch(host, "lossy", begin, end, True, n, moments, lead_ns=pause_ns, lag_ns=pause_ns)
