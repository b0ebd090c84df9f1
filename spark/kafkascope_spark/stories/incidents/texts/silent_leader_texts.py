"""Texts about leaders of groups that send SyncGroup late or not at all, so that no member gets its partitions (kind
member)."""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import named


def waits_for_leader(failure: Failure, leader: SilentLeader, times: Times) -> str:
    """Returns a sentence about a leader that does not assign the partitions, or does so late."""
    if leader.sent_ns is not None:
        return _came_late(failure, leader, leader.sent_ns, times)
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: "
        f"{client(leader.client_id, leader.client_ip)}, the leader of generation {leader.generation}, has sent no "
        f"SyncGroup since its JoinGroup was answered at {times.at(leader.joined_ns)}, and "
        f"{counted(leader.n_waiting, 'other member')} got no response to SyncGroup until the capture ended"
    )


def _came_late(failure: Failure, leader: SilentLeader, sent_ns: int, times: Times) -> str:
    """Returns a sentence about a leader that assigns the partitions late."""
    session = f"the session timeout of {leader.session_timeout_ms} ms"
    removed = f", longer than {session}, so that the coordinator removed members" if leader.is_over_session else ""
    more = f"; SyncGroup came late like that {times_of(leader.n_times)}" if leader.n_times > 1 else ""
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: "
        f"{client(leader.client_id, leader.client_ip)}, the leader of generation {leader.generation}, sent SyncGroup "
        f"{duration(sent_ns - leader.joined_ns)} after its JoinGroup was answered at {times.at(leader.joined_ns)}"
        f"{removed}; {counted(leader.n_waiting, 'other member')} waited for it{more}"
    )


def wake_leader(leader: SilentLeader) -> Iterable[Action]:
    """Yields advice for a group whose leader does not assign the partitions, or does so late."""
    if leader.sent_ns is not None:
        yield clients(
            f"See what {client(leader.client_id, leader.client_ip)} does between the response to JoinGroup and its "
            "SyncGroup: the leader assigns the partitions of all members there (an assignor that looks up metadata or "
            "offsets of many topics, a callback for revoked or assigned partitions, a pause of its process). The "
            "other members, their polls and heartbeats, and the network are not the cause."
        )
        if leader.is_over_session:
            yield clients(
                "Until it is faster, raise session.timeout.ms of all members above that time "
                f"(now {leader.session_timeout_ms})."
            )
        return
    yield clients(
        f"Restart {client(leader.client_id, leader.client_ip)}, and see what it does since then (a thread dump, its "
        "log): the leader assigns the partitions of all members, and the coordinator answers none of them before. An "
        "exception in the assignor, a callback for revoked partitions that does not return, or a library that lost "
        "the response to JoinGroup are the usual ones. The other members, the coordinator and the network are not "
        "the cause."
    )
    yield brokers(
        "Brokers before Kafka 2.8.1 keep such a leader for as long as it sends heartbeats (KAFKA-12890); later ones "
        "remove it after the rebalance timeout."
    )
