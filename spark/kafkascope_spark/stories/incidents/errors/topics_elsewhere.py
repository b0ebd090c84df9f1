"""Topics that are missing in one cluster and known in another of the same dataset: their clients may have reached the
wrong cluster, through an address in bootstrap.servers, a DNS name or a load balancer."""

from collections.abc import Callable, Collection, Iterable, Mapping

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.topics import is_of_group
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC

ClustersOf = Callable[[Collection[str]], Mapping[str, tuple[str, ...]]]


def mark_elsewhere(failures: Iterable[Failure], clusters_of: ClustersOf) -> None:
    """Sets the other clusters that have a missing topic. clusters_of: returns them for some topics."""
    missed = [f for f in failures if f.kind is MISSING_TOPIC and not is_of_group(f.recoveries)]
    clusters = clusters_of({failure.subject for failure in missed})
    for failure in missed:
        failure.topic.elsewhere = clusters.get(failure.subject, ())
