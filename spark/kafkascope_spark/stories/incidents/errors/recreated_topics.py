"""Topics that were deleted and created again: clients missed them while brokers began to report another ID for the
name. Leader moves of the new topic soon after follow from that."""

from collections.abc import Callable, Collection, Iterable, Mapping

from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.topics import is_of_group, topic_of
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.missing_partition import MISSING_PARTITION, lacking
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC, is_about_id
from kafkascope_spark.stories.incidents.kinds.recreated_topic import RECREATED_TOPIC
from kafkascope_spark.stories.incidents.packets.deleted_topics import Deletions
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS


def mark_recreated(
    failures: Iterable[Failure],
    leadership_of: Callable[[Collection[str]], Leadership],
    deletions_of: Callable[[], Deletions] = dict,
) -> None:
    """Sets the IDs, the known partitions and the deletion of missing topics. A topic with several IDs becomes a failure
    of kind `recreated_topic`, one that lacks only some partitions of kind `missing_partition`.
    leadership_of: returns the leadership of some topic-partitions; deletions_of: returns the deletions of topics."""
    listed = list(failures)
    missed = [f for f in listed if f.kind is MISSING_TOPIC and not is_of_group(f.recoveries)]
    if not missed:
        return
    moves = [failure for failure in listed if failure.kind is LEADER_MOVE]
    leadership = leadership_of({row.resource for failure in missed for row in failure.recoveries})
    deletions = deletions_of()
    for failure in missed:
        failure.topic.known_partitions = leadership.partitions_of(failure.subject, failure.start_ns)
        before = (each for each in deletions.get(failure.subject, ()) if each.ts_ns <= failure.start_ns + SECOND)
        failure.topic.deletion = max(before, key=lambda each: each.ts_ns, default=None)
        if lacking(failure):
            failure.kind = MISSING_PARTITION
        failure.topic.ids = _ids_of(failure, leadership)
        if failure.is_recreated:
            failure.kind = RECREATED_TOPIC
            for move in moves:
                if _follows(move, failure):
                    move.root = failure


def _ids_of(failure: Failure, leadership: Leadership) -> Mapping[str, int]:
    """Returns the topic's IDs since it was missing, including the last one before. If the errors are about an ID, all
    IDs are returned: a client may have kept an ID from long before."""
    ids = leadership.ids_of(failure.subject)
    if any(map(is_about_id, failure.recoveries)):
        return ids
    before = [topic_id for topic_id, at_ns in ids.items() if at_ns <= failure.start_ns]
    return {topic_id: at_ns for topic_id, at_ns in ids.items() if topic_id not in before[:-1]}


def _follows(move: Failure, topic: Failure) -> bool:
    """Whether a leader move is of this topic only, and began while the topic was missing or soon after."""
    is_of_topic = all(topic_of(row) == topic.subject for row in move.recoveries)
    is_over = topic.end_ns is not None and move.start_ns > topic.end_ns + FOLLOWS_NS
    return bool(move.recoveries) and is_of_topic and move.start_ns >= topic.start_ns and not is_over
