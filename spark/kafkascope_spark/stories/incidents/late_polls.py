"""Consumers that asked for records late, from stalls that nothing else explains: the records were there, and for most
of the time no Fetch of the client was on the way for them. Its member stays in the group: heartbeats go on."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER
from kafkascope_spark.stories.incidents.slow_consumers import APART_NS
from kafkascope_spark.stories.stalls.table import Stall


def late_polls(stalls: Iterable[Stall]) -> Iterator[Failure]:
    """The failures, by time: one for each client and time, with its stalls."""
    listed = list(stalls)
    busy = Stretches(
        (s.from_ns, FOREVER if s.to_ns is None else s.to_ns, s.client_instance_id) for s in listed if s.kind == "commit"
    )
    last_of: dict[str, Failure] = {}
    late = (s for s in listed if s.is_unasked and s.client_instance_id is not None and not _is_committing(s, busy))
    for stall in sorted(late, key=attrgetter("from_ns", "stall_id")):
        identity = str(stall.client_instance_id)
        failure = last_of.get(identity)
        if failure is None or stall.from_ns > (failure.end_ns or 0) + APART_NS:
            failure = last_of[identity] = _failure(identity, stall)
            yield failure
        failure.stalls.append(stall)
        failure.end_ns = max(failure.end_ns or 0, stall.to_ns or 0)


def _is_committing(stall: Stall, commits: Stretches[str | None]) -> bool:
    """Whether the client waited for a commit meanwhile: it asks for more when it has the response."""
    during = commits.meeting(stall.from_ns, FOREVER if stall.to_ns is None else stall.to_ns)
    return stall.client_instance_id in during


def _failure(identity: str, stall: Stall) -> Failure:
    failure = Failure(SLOW_CONSUMER, client(stall.client_id, stall.client_ip), stall.from_ns, stall.to_ns)
    failure.client_instance_ids.add(identity)
    failure.hosts = frozenset({stall.client_ip} if stall.client_ip else ())
    return failure
