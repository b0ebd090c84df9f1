"""Times of the failures of topics and topic-partitions, as each client saw them."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.requests.failure_times import FailureTimes, failure_times, with_codes
from kafkascope_analyzer.scan.apis import PARTITION_APIS

_FAILURE = pa.schema(
    [("client_ip", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("ts_ns", pa.int64())]
)
_APIS = pa.array(sorted(PARTITION_APIS), pa.int16())


@dataclass(frozen=True, slots=True)
class PartitionFailures:
    """partitions: failures by client_ip, topic and partition. topics: for topics that failed as a whole for any client
    (in Metadata), the failures of the topic and of its partitions, by client_ip and topic."""

    partitions: FailureTimes
    topics: FailureTimes


def partition_failures(
    errors: Iterable[pa.Table], unanswered: Iterable[pa.Table], topics: TopicNames
) -> PartitionFailures:
    """Gathers failures. errors: spilled rows of `errors` with client_ip; unanswered: topic-partitions of requests that
    failed because their connection did."""
    of_partitions, of_topics = [with_codes(_FAILURE.empty_table())], [with_codes(_FAILURE.empty_table())]
    for rows in errors:
        named = _named(rows, topics)
        is_whole = pc.is_null(named["partition"])
        of_topics.append(_failures(named.filter(is_whole)))
        is_used = pc.and_(pc.invert(is_whole), pc.is_in(named["api_key"], _APIS))
        of_partitions.append(_failures(named.filter(is_used)))
    of_partitions += [_failures(_named(rows, topics)) for rows in unanswered]
    failed = pc.unique(pa.chunked_array([rows["topic"].cast(pa.string()).combine_chunks() for rows in of_topics]))
    of_topics += [rows.filter(pc.is_in(rows["topic"].cast(pa.string()), failed)) for rows in of_partitions]
    return PartitionFailures(
        failure_times(of_partitions), failure_times(rows.drop_columns("partition") for rows in of_topics)
    )


def _failures(rows: pa.Table) -> pa.Table:
    return with_codes(rows.select(_FAILURE.names))


def _named(rows: pa.Table, topics: TopicNames) -> pa.Table:
    """Returns the rows whose topic has a name, by the topic id where the row has only that."""
    name = topics.complete(rows["topic"], rows["topic_id"])
    rows = rows.set_column(rows.column_names.index("topic"), "topic", name)
    return rows.filter(pc.is_valid(name))
