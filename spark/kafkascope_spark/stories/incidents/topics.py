"""Topics and partitions that recoveries are about: their resource is `topic-partition`, or the topic alone."""

from collections.abc import Iterable

from kafkascope_parsers import api_keys
from kafkascope_parsers.versions import MOST_INT32, parse_number
from kafkascope_spark.stories.recoveries.table import Recovery


def topic_of(recovery: Recovery) -> str | None:
    """The topic; None where the recovery is about something else."""
    return None if recovery.resource_kind != "partition" else _split(recovery)[0]


def partitions_of(recoveries: Iterable[Recovery]) -> list[int]:
    """The numbers of the partitions, sorted."""
    split = (_split(row) for row in recoveries if row.resource_kind == "partition")
    return sorted({partition for _, partition in split if partition is not None})


def is_of_group(recoveries: Iterable[Recovery]) -> bool:
    """Whether the recoveries are those of groups: of errors about topics that they commit offsets for, which are not
    named."""
    return {row.resource_kind for row in recoveries} == {"group"}


def _split(recovery: Recovery) -> tuple[str, int | None]:
    """Topic and partition. Metadata is asked for topics, whose names may end as if they had a partition."""
    resource = recovery.resource
    topic, _, partition = resource.rpartition("-")
    number = parse_number(partition, MOST_INT32)
    if recovery.first_api_key == api_keys.METADATA or not topic or number is None:
        return resource, None
    return topic, number
