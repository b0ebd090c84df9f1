"""Consumers that take longer between two polls than max.poll.interval.ms: their library leaves the group, and joins
again at the next poll.

Java clients give this reason in LeaveGroup (KIP-800). Other clients only leave. They count as slow if they leave and
join again several times; or if they leave once, after having been a member for that interval at least, and join again
later.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_spark.stories.findings.thresholds import LEAVES
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.slow_consumer import SLOW_CONSUMER
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.texts.texts import KIP_800
from kafkascope_spark.stories.libraries.aiokafka import AIOKAFKA
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.kafka_python import KAFKA_PYTHON
from kafkascope_spark.stories.libraries.librdkafka import LIBRDKAFKA

APART_NS = 60 * SECOND
"""Departures that are further apart than this are separate failures."""

_LEAVING = frozenset({JAVA.name, LIBRDKAFKA.name, KAFKA_PYTHON.name, AIOKAFKA.name})
"""Libraries that leave a group when the application has not polled for max.poll.interval.ms, which they send to the
coordinator as rebalance timeout."""

AGAIN_NS = SECOND
"""A client that leaves and joins again sooner than this has only changed its subscription."""

CHECKED_NS = SECOND
"""Interval at which libraries check the time of the last poll: the application may have stopped polling this much
earlier."""

Departure = tuple[DepartedMember, RebalanceRow]


def slow_consumers(rebalances: Iterable[RebalanceRow], clients: dict[str, AffectedClient]) -> Iterator[Failure]:
    """Yields one failure for each client, group and time. clients: by client_instance_id."""
    of_client: dict[tuple[str, str], list[Departure]] = defaultdict(list)
    joined: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in sorted(rebalances, key=lambda row: row.start_ns or 0):
        for member in row.members:
            if member.client_instance_id is not None and member.is_new and member.joined_ns is not None:
                joined[member.client_instance_id, row.group_id].append(member.joined_ns)
        for gone in row.departed:
            if gone.client_instance_id is not None and gone.left:
                of_client[gone.client_instance_id, row.group_id].append((gone, row))
    for key, departures in sorted(of_client.items()):
        for group in _of_one_time(departures):
            affected = clients.get(key[0])
            if _is_slow(group, joined[key]) or (affected is not None and _is_late(group, joined[key], affected)):
                yield _failure(key, group, joined[key], affected)


def _of_one_time(departures: Iterable[Departure]) -> Iterator[list[Departure]]:
    group: list[Departure] = []
    for each in departures:
        if group and _left_ns(each) - _left_ns(group[-1]) > APART_NS:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _left_ns(departure: Departure) -> int:
    return departure[1].start_ns or 0


def _is_slow(group: list[Departure], joined: Iterable[int]) -> bool:
    """Whether the library gives the reason, or the client left without a reason and joined again LEAVES times or
    more."""
    if any(KIP_800 in (gone.why or "") for gone, _ in group):
        return True
    last_joined_ns = max(joined, default=0)
    n_again = sum(last_joined_ns > _left_ns(each) for each in group if not each[0].why)
    return n_again >= LEAVES


def _is_late(group: list[Departure], joined: Iterable[int], known: AffectedClient) -> bool:
    """Whether the client left once without a reason, after having been a member for its rebalance timeout at least, and
    joined again later; only for libraries that leave by themselves."""
    if len(group) > 1 or group[0][0].why or known.library not in _LEAVING or known.rebalance_timeout_ms is None:
        return False
    left_ns = _left_ns(group[0])
    before_ns = max((ns for ns in joined if ns <= left_ns), default=left_ns)
    again_ns = min((ns for ns in joined if ns > left_ns), default=left_ns)
    return left_ns - before_ns >= known.rebalance_timeout_ms * 1_000_000 and again_ns - left_ns >= AGAIN_NS


def _failure(
    key: tuple[str, str], group: list[Departure], joined: Iterable[int], known: AffectedClient | None
) -> Failure:
    """Returns the failure. It lasts from the first poll that was due and did not come until the client joined again for
    the last time."""
    allowed_ms = known.rebalance_timeout_ms if known is not None else None
    first_ns, last_ns = _left_ns(group[0]), _left_ns(group[-1])
    again_ns = min((ns for ns in joined if ns > last_ns), default=None)
    due_ns = first_ns - (allowed_ms or 0) * 1_000_000
    gone = group[0][0]
    failure = Failure(
        SLOW_CONSUMER,
        client(gone.client_id, None if known is None else known.client_ip),
        due_ns,
        again_ns,
        client_instance_ids={key[0]},
        rebalances=list({row.rebalance_id: row for _, row in group}.values()),
    )
    failure.hosts = frozenset() if known is None else frozenset({known.client_ip})
    if allowed_ms is not None:
        failure.fault = Fault(due_ns - CHECKED_NS, due_ns, last_ns, again_ns)
    return failure
