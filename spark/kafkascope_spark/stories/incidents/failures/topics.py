"""Topics and partitions of recoveries: the resource of a recovery is `topic-partition`, or the topic alone."""

from collections.abc import Iterable

from kafkascope_parsers import api_keys
from kafkascope_parsers.versions import MOST_INT32, parse_number
from kafkascope_spark.stories.recoveries.table import Recovery


def topic_of(recovery: Recovery) -> str | None:
    """Returns the topic of a recovery; None if its resource is something else."""
    return None if recovery.resource_kind != "partition" else _split(recovery)[0]


def partitions_of(recoveries: Iterable[Recovery]) -> list[int]:
    """Returns the numbers of the partitions, sorted."""
    split = (_split(row) for row in recoveries if row.resource_kind == "partition")
    return sorted({partition for _, partition in split if partition is not None})


def is_of_group(recoveries: Iterable[Recovery]) -> bool:
    """Whether all recoveries are of groups: errors about topics for which groups commit offsets do not name the
    topic."""
    return {row.resource_kind for row in recoveries} == {"group"}


def _split(recovery: Recovery) -> tuple[str, int | None]:
    """Returns topic and partition. For Metadata requests the resource is a topic alone, even if its name ends like a
    partition."""
    resource = recovery.resource
    topic, _, partition = resource.rpartition("-")
    number = parse_number(partition, MOST_INT32)
    if recovery.first_api_key == api_keys.METADATA or not topic or number is None:
        return resource, None
    return topic, number
