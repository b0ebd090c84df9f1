"""Records that were late, failed or fetched again because of a failure, by topic."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.error_facts import FATAL
from kafkascope_spark.stories.incidents.clients.client_failures import groups_of
from kafkascope_spark.stories.incidents.errors.lost_records import is_of_lost_records
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.topics import topic_of
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.table import Harm
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

_Writer = tuple[str | None, str]
"""A client instance and the topic-partition that it writes to."""


@dataclass(slots=True)
class _Count:
    """Records of one writer. Stalls (n_late, n_failed) and recoveries (n_refused) may count the same records."""

    n_late: int = 0
    n_failed: int = 0
    n_refused: int = 0


@dataclass(slots=True)
class _Topic:
    writers: dict[_Writer, _Count] = field(default_factory=lambda: defaultdict(_Count))
    n_again: int = 0


def harm_of(failure: Failure) -> tuple[Harm, ...]:
    """Returns the harm of a failure by topic, sorted; topics without harm are left out."""
    topics: dict[str, _Topic] = defaultdict(_Topic)
    for stall in failure.stalls:
        if stall.kind == "produce" and stall.topic is not None:
            count = topics[stall.topic].writers[stall.client_instance_id, f"{stall.topic}-{stall.partition}"]
            count.n_late += stall.n_records_late
            count.n_failed += stall.n_records_failed
    for row in failure.recoveries:
        topic = topic_of(row)
        if topic is not None and _is_for_good(row):
            topics[topic].writers[row.client_instance_id, row.resource].n_refused += _batches(row, failure)
    for again in failure.fetched_again:
        topics[again.topic].n_again += again.n_records
    return tuple(_harm(topics))


def _harm(topics: Mapping[str, _Topic]) -> Iterable[Harm]:
    for topic, of_topic in sorted(topics.items()):
        counts = of_topic.writers.values()
        n_late, n_failed = sum(c.n_late for c in counts), sum(max(c.n_failed, c.n_refused) for c in counts)
        if n_late or n_failed or of_topic.n_again:
            yield Harm(topic, n_late, n_failed, of_topic.n_again)


def _batches(recovery: ClientRecovery, failure: Failure) -> int:
    """Returns the least number of batches of a recovery that failed: a writer that stalls and sends on one new
    connection after the other sends the same batch."""
    waiting = ((s.client_instance_id, f"{s.topic}-{s.partition}") for s in failure.stalls if s.kind == "produce")
    sent_again = is_of_lost_records(recovery) and (recovery.client_instance_id, recovery.resource) in waiting
    return 1 if sent_again else recovery.n_errors


def _is_for_good(recovery: ClientRecovery) -> bool:
    """Whether batches (of one record or more each) were refused for good or lost with their connection."""
    is_refused = recovery.first_api_key == PRODUCE and recovery.first_error_name in FATAL
    return (is_refused and recovery.recovered_ns is None) or is_of_lost_records(recovery)


def give_fetched_again(failures: Iterable[Failure], rows: Iterable[FetchedAgain]) -> None:
    """Adds records that were fetched again to the failure that affected their group or consumer at that time or shortly
    before; of several failures, to the one that began last."""
    of_readers: dict[str, list[Failure]] = defaultdict(list)
    for failure in sorted(failures, key=lambda each: each.start_ns, reverse=True):
        for reader in _readers(failure):
            of_readers[reader].append(failure)
    for row in rows:
        met = (failure for failure in of_readers.get(row.reader, ()) if _is_of_time(failure, row))
        for failure in islice(met, 1):
            failure.fetched_again.append(row)


def _readers(failure: Failure) -> set[str]:
    """Returns the groups and clients that the failure affected."""
    groups = {stall.group_id for stall in (*failure.stalls, *failure.earlier_stalls)}
    clients = {stall.client_instance_id for stall in failure.stalls} | failure.client_instance_ids
    resources = {recovery.resource for recovery in failure.recoveries}
    return {each for each in (*groups, *groups_of(failure), *clients, *resources) if each is not None}


def _is_of_time(failure: Failure, row: FetchedAgain) -> bool:
    return failure.start_ns < row.to_ns and row.from_ns <= failure.affected_to_ns + FOLLOWS_NS
