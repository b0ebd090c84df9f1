"""When packets between a server and a host were lost again and again: several times, one of the two sent the same again
for longer than half a second, and it arrived in the end."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, by_host, stretches_by_host

_ARRIVED = frozenset({"ack", "data", "syn_ack"})
_LAYERS = frozenset({"packet", "delivery"})
_RETRY_NS = 100_000_000
"""Who sends again does so 200 ms later at the earliest."""
_LEAST_LOSSES = 3
"""So many losses, one after the other, are no accident."""
_APART_NS = 5 * SECOND_NS
"""Losses with a longer pause between them are not of one time."""


@dataclass(frozen=True, slots=True)
class _Loss:
    """A wait that ended when what had been sent again arrived."""

    wait: Wait
    until: Moment


def lossy_stretches(server: ServerRecord, others: Iterable[Stretch]) -> list[Stretch]:
    """The stretches in which packets were lost, by host. others: those of states in which nothing arrives, or nobody is
    there, which explain more."""
    explained = stretches_by_host(others)
    losses: dict[str, list[_Loss]] = defaultdict(list)
    for wait in server.waits:
        loss = _loss(wait)
        if loss is not None and not explained[wait.host].overlap(wait.asked.ts_ns, loss.until.ts_ns):
            losses[wait.host].append(loss)
    return [_stretch(host, near) for host, mine in losses.items() for near in _near(mine) if _is_repeated(near)]


def without_lossy(silent: Iterable[Stretch], lossy: Iterable[Stretch]) -> Iterator[Stretch]:
    """The silent stretches that are no part of a lossy one. A shorter silence beside one is a loss that lasted longer:
    the lossy stretch takes it."""
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
    """The losses of a host in groups with a long pause between them; in order of time."""
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
    """Whether enough of the losses came one after the other. Connections that wait together wait for one reason."""
    n, end = 0, 0
    for loss in losses:
        if loss.wait.asked.ts_ns > end:
            n += 1
        end = max(end, loss.until.ts_ns)
    return n >= _LEAST_LOSSES


def _stretch(host: str, losses: list[_Loss]) -> Stretch:
    moments = [moment for loss in losses for moment in (loss.wait.asked, loss.wait.last_asked)]
    n = len({loss.wait.conn_id for loss in losses})
    return Stretch(host, "lossy", losses[0].wait.asked, max(loss.until for loss in losses), True, n, moments)
