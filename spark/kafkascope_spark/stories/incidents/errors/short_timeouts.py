"""Producers that let brokers wait for too short a time for replicas. A broker answers Produce with REQUEST_TIMED_OUT
when the timeout is over that the request itself names: where all such answers come within a second, it is that timeout,
and not the replicas. Replicas that failed are waited for until they leave the in-sync replicas, for 30 s by default
(replica.lag.time.max.ms)."""

from collections.abc import Callable, Iterable, Sequence

from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.request_refused import REQUEST_REFUSED, TIMED_OUT
from kafkascope_spark.stories.incidents.kinds.too_few_replicas import TOO_FEW_REPLICAS
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies


def mark_short_timeouts(failures: Iterable[Failure], ask: Callable[[Sequence[Asked]], list[Latencies]]) -> None:
    """Makes such failures the clients' own. ask: how long the responses of some times took."""
    found = [failure for failure in failures if _is_timed_out(failure)]
    asked = [Asked(failure.start_ns, failure.affected_to_ns, frozenset({PRODUCE})) for failure in found]
    for failure, latencies in zip(found, ask(asked) if asked else [], strict=True):
        mine = {(row.client_ip, row.old_node_id) for row in failure.recoveries}
        longest_ns = [each.longest_ns for pair, each in latencies.of_pairs.items() if pair in mine]
        if longest_ns and max(longest_ns) < SECOND:
            failure.kind, failure.responses.longest_answer_ns = REQUEST_REFUSED, max(longest_ns)


def _is_timed_out(failure: Failure) -> bool:
    is_produce = all(row.first_api_key == PRODUCE for row in failure.recoveries)
    return failure.kind is TOO_FEW_REPLICAS and failure.error_names == {TIMED_OUT} and is_produce
