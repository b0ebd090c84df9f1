"""Stale metadata of clients and brokers: requests still went to a broker that was no longer the leader of a
topic-partition.

An error code alone does not show that: a broker that no longer has a replica of a partition answers
UNKNOWN_TOPIC_OR_PARTITION, as it does if the topic does not exist. So the reports of leaders are compared. If a broker
continues to report an older leader than another broker has reported, that broker is stale, and not the client that uses
its report. A client that continues to send requests to the old leader, without refreshing its metadata, is stale
itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.wording import client, node
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import KeyedStretches
from kafkascope_spark.stories.incidents.failures.topics import topic_of
from kafkascope_spark.stories.incidents.kinds.stale_broker import STALE_BROKER
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT
from kafkascope_spark.stories.incidents.packets.leadership import Leader, Leadership
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery, LeaderReport

WITHOUT_REPLICA = "REPLICA_NOT_AVAILABLE"
"""Error of a former replica for consumers that were sent to it (KIP-392)."""
AT_OLD_LEADER = frozenset(
    {"UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", WITHOUT_REPLICA}
)
"""Errors of a broker that is no longer the leader of a topic-partition, or no longer one of its replicas."""
OF_OLD_EPOCH = "FENCED_LEADER_EPOCH"
"""Error of a leader for a client that knows an older leader epoch."""
SETTLES_NS = SECOND
"""Time in which brokers and clients learn of a leader move: metadata that is out of date for longer is stale."""
Moved = Mapping[str, Leader]
"""By recovery_id: the leader of the topic-partition at that time, instead of the node that got the request."""


def may_have_moved(recovery: ClientRecovery) -> bool:
    """Whether the recovery is from an error of a known node that may no longer be the leader of the topic-partition."""
    is_at_node = recovery.resource_kind == "partition" and recovery.old_node_id is not None
    return is_at_node and recovery.first_error_name in AT_OLD_LEADER


def moved(recoveries: Sequence[ClientRecovery], leadership: Leadership) -> dict[str, Leader]:
    """Returns the leader for each recovery from an error of a node while another node led the topic-partition, by
    recovery_id. Recoveries are left out if Metadata did not know the topic at that time."""
    found = {}
    unknown = _unknown_to_metadata(recoveries)
    for row in filter(may_have_moved, recoveries):
        if any(unknown.of(("topic", topic_of(row))).latest(row.start_ns, row.last_failed_ns + SETTLES_NS)):
            continue
        until_ns = row.last_failed_ns + SETTLES_NS if row.recovered_ns is None else row.recovered_ns
        leader = leadership.other_than(row.old_node_id, row.resource, row.start_ns, until_ns)
        if leader is not None:
            found[row.recovery_id] = leader
    return found


def _unknown_to_metadata(recoveries: Iterable[ClientRecovery]) -> KeyedStretches[bool]:
    """Returns the times in which Metadata did not know a topic, by topic."""
    found: KeyedStretches[bool] = KeyedStretches()
    for row in recoveries:
        if row.first_api_key == api_keys.METADATA and row.resource_kind == "partition":
            found.add(("topic", topic_of(row)), row.start_ns, row.recovered_ns, True)
    return found


def of_stale_metadata(
    recoveries: Iterable[ClientRecovery], moved_to: Moved, leadership: Leadership
) -> Iterator[Failure]:
    """Yields one failure for each broker and each client with stale metadata."""
    found: dict[str, Failure] = {}
    for row in sorted(recoveries, key=lambda r: (r.start_ns, r.recovery_id)):
        leader = moved_to.get(row.recovery_id)
        if leader is None and row.first_error_name not in (OF_OLD_EPOCH, WITHOUT_REPLICA):
            continue
        report = None if leader is None else _outdated_report(row, leadership)
        if report is None and not _is_behind(row):
            continue
        key = row.client_instance_id if report is None else report.server
        failure = found.get(key)
        if failure is None:
            failure = found[key] = _of_client(row) if report is None else _of_broker(row, report)
            yield failure
        _take(failure, row, leader)


def _outdated_report(recovery: ClientRecovery, leadership: Leadership) -> LeaderReport | None:
    """Returns the last report of an old leader by a broker when another broker had reported a later leader for
    SETTLES_NS at least; None if there is none."""
    found = []
    for report in recovery.leader_reports:
        leader = leadership.reported(recovery.resource, report.last_ns)
        if leader is not None and leader.node_id != report.leader_id and report.last_ns - leader.since_ns >= SETTLES_NS:
            found.append(report)
    return max(found, key=lambda report: (report.last_ns, report.server), default=None)


def _is_behind(recovery: ClientRecovery) -> bool:
    """Whether the client continued to send requests to the old leader without refreshing its metadata because of the
    errors."""
    went_on = recovery.last_failed_ns - recovery.start_ns >= SETTLES_NS
    return went_on and recovery.refresh_trigger in (None, "age")


def _of_client(row: ClientRecovery) -> Failure:
    hosts = frozenset(filter(None, [row.client_ip]))
    return Failure(STALE_CLIENT, client(row.client_id, row.client_ip), row.start_ns, row.start_ns, hosts=hosts)


def _of_broker(row: ClientRecovery, report: LeaderReport) -> Failure:
    subject = node(report.node_id, report.server)
    failure = Failure(STALE_BROKER, subject, row.start_ns, row.start_ns, node_id=report.node_id, server=report.server)
    failure.servers = frozenset({report.server})
    return failure


def _take(failure: Failure, row: ClientRecovery, leader: Leader | None) -> None:
    failure.take_error(row)
    if leader is not None:
        failure.topic.moved_to.setdefault(row.resource, leader)
