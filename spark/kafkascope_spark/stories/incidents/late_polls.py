"""Consumers that asked for records late, from stalls that nothing else explains: the records were there, and for most
of the time no Fetch of the client was on the way for them. Its member stays in the group: heartbeats go on."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.failure_index import KeyedStretches
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER
from kafkascope_spark.stories.incidents.slow_consumers import APART_NS
from kafkascope_spark.stories.stalls.table import Stall

_CLIENT = "client"


def late_polls(stalls: Iterable[Stall]) -> Iterator[Failure]:
    """The failures, by time: one for each client and time, with its stalls."""
    listed = list(stalls)
    commits: KeyedStretches[Stall] = KeyedStretches()
    for stall in listed:
        if stall.kind == "commit" and stall.client_instance_id is not None:
            commits.add((_CLIENT, stall.client_instance_id), stall.from_ns, stall.to_ns, stall)
    last_of: dict[str, Failure] = {}
    late = (s for s in listed if s.is_unasked and s.client_instance_id is not None and not _is_committing(s, commits))
    for stall in sorted(late, key=attrgetter("from_ns", "stall_id")):
        identity = str(stall.client_instance_id)
        failure = last_of.get(identity)
        if failure is None or (failure.end_ns is not None and stall.from_ns > failure.end_ns + APART_NS):
            failure = last_of[identity] = _failure(identity, stall)
            yield failure
        failure.stalls.append(stall)
        is_open = failure.end_ns is None or stall.to_ns is None
        failure.end_ns = None if is_open else max(failure.end_ns or 0, stall.to_ns or 0)


def _is_committing(stall: Stall, commits: KeyedStretches[Stall]) -> bool:
    """Whether the client waited for a commit meanwhile: it asks for more when it has the response."""
    of_client = commits.of((_CLIENT, stall.client_instance_id))
    return of_client.meet(stall.from_ns, FOREVER if stall.to_ns is None else stall.to_ns)


def _failure(identity: str, stall: Stall) -> Failure:
    failure = Failure(SLOW_CONSUMER, client(stall.client_id, stall.client_ip), stall.from_ns, stall.to_ns)
    failure.client_instance_ids.add(identity)
    failure.hosts = frozenset({stall.client_ip} if stall.client_ip else ())
    return failure
