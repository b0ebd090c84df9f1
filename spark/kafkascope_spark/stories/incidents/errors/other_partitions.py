"""Errors about topic-partitions that their requests did not name: what the server answers does not fit the request, and
the client has no reason to look for another leader."""

from collections.abc import Collection, Iterable

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.other_partition import OTHER_PARTITION
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT
from kafkascope_spark.stories.incidents.packets.requested_partitions import AskNamed


def mark_other_partitions(failures: Iterable[Failure], ask: AskNamed) -> None:
    """Changes failures of clients with stale metadata to kind `other_partition` if none of their requests named the
    topic-partition of the error. ask: returns what some requests named, sent from one time to another."""
    for failure in failures:
        if failure.kind is STALE_CLIENT:
            ids = {request_id for row in failure.recoveries for request_id in row.evidence}
            named = ask(ids, failure.start_ns, max(row.last_failed_ns for row in failure.recoveries))
            found = {name for row in failure.recoveries for each in row.evidence for name in named.get(each, ())}
            if found and found.isdisjoint(row.resource for row in failure.recoveries):
                _mark(failure, found)


def _mark(failure: Failure, named: Collection[str]) -> None:
    first = min(failure.recoveries, key=lambda row: (row.start_ns, row.recovery_id))
    failure.kind, failure.node_id = OTHER_PARTITION, first.old_node_id
    failure.subject = f"node {first.old_node_id}"
    failure.topic.named = frozenset(named)
