"""Consumers that fetched late, from stalls that nothing else explains: records were available, and for most of the time
the client had no Fetch in flight for them. The client stays a member of its group because its heartbeats go on."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.clients.slow_consumers import APART_NS
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_index import KeyedStretches
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER
from kafkascope_spark.stories.stalls.table import Stall

_CLIENT = "client"
_LONG_MS, _OFTEN = 2_000, 5
"""A client fetches late if one wait lasts this long or if it waits this often: a client that commits before it fetches
again may wait a second for the commit now and then."""


def late_polls(stalls: Iterable[Stall]) -> Iterator[Failure]:
    """Yields one failure for each client and time, in order of time, with its stalls. Other stalls of the client near
    that time belong to it, too: a client does not fetch all topic-partitions in each request."""
    listed = list(stalls)
    commits: KeyedStretches[Stall] = KeyedStretches()
    for stall in listed:
        if stall.kind == "commit" and stall.client_instance_id is not None:
            commits.add((_CLIENT, stall.client_instance_id), stall.from_ns, stall.to_ns, stall)
    found: dict[str, list[Failure]] = defaultdict(list)
    late = (s for s in listed if s.unasked_ms and s.client_instance_id is not None and not _is_committing(s, commits))
    for stall in sorted(late, key=attrgetter("from_ns", "stall_id")):
        of_client = found[str(stall.client_instance_id)]
        if not of_client or not _is_near(of_client[-1], stall):
            of_client.append(_failure(str(stall.client_instance_id), stall))
        _take(of_client[-1], stall)
    for identity, failures in found.items():
        found[identity] = [failure for failure in failures if _is_late(failure)]
    others = (stall for stall in listed if stall.kind == "consume" and not stall.unasked_ms)
    for stall in sorted(others, key=attrgetter("from_ns", "stall_id")):
        near = next((f for f in found.get(str(stall.client_instance_id), ()) if _is_near(f, stall)), None)
        if near is not None and not _is_committing(stall, commits):
            _take(near, stall)
    yield from sorted((f for failures in found.values() for f in failures), key=attrgetter("start_ns", "subject"))


def _is_near(failure: Failure, stall: Stall) -> bool:
    """Whether a stall is within APART_NS of the time in which the client fetched late."""
    is_before = stall.to_ns is not None and stall.to_ns < failure.start_ns - APART_NS
    return not is_before and (failure.end_ns is None or stall.from_ns <= failure.end_ns + APART_NS)


def _take(failure: Failure, stall: Stall) -> None:
    failure.stalls.append(stall)
    failure.start_ns = min(failure.start_ns, stall.from_ns)
    is_open = failure.end_ns is None or stall.to_ns is None
    failure.end_ns = None if is_open else max(failure.end_ns or 0, stall.to_ns or 0)


def _is_late(failure: Failure) -> bool:
    """Whether the client fetched late for longer than a commit may take, or often."""
    return len(failure.stalls) >= _OFTEN or any(stall.unasked_ms >= _LONG_MS for stall in failure.stalls)


def _is_committing(stall: Stall, commits: KeyedStretches[Stall]) -> bool:
    """Whether the client waited for a commit during the stall: it fetches again when it has the response."""
    of_client = commits.of((_CLIENT, stall.client_instance_id))
    return of_client.meet(stall.from_ns, FOREVER if stall.to_ns is None else stall.to_ns)


def _failure(identity: str, stall: Stall) -> Failure:
    failure = Failure(SLOW_CONSUMER, client(stall.client_id, stall.client_ip), stall.from_ns, stall.to_ns)
    failure.client_instance_ids.add(identity)
    failure.hosts = frozenset({stall.client_ip} if stall.client_ip else ())
    return failure
