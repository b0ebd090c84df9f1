"""Texts about leaders of groups that send no SyncGroup, so that no member gets its partitions (kind member)."""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.kinds.texts import named
from kafkascope_spark.stories.incidents.times import Times


def waits_for_leader(failure: Failure, leader: SilentLeader, times: Times) -> str:
    """Returns a sentence about a leader that does not assign the partitions."""
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: "
        f"{client(leader.client_id, leader.client_ip)}, the leader of generation {leader.generation}, has sent no "
        f"SyncGroup since its JoinGroup was answered at {times.at(leader.joined_ns)}, and "
        f"{counted(leader.n_waiting, 'other member')} got no response to SyncGroup until the capture ended"
    )


def wake_leader(leader: SilentLeader) -> Iterable[Action]:
    """Yields advice for a group whose leader does not assign the partitions."""
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
