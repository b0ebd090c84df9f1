"""Topic-partitions without a leader: brokers reported no leader, or one that denied being the leader.

Looks at LEADER_NOT_AVAILABLE, and at NOT_LEADER_OR_FOLLOWER of a broker that Metadata continues to report as leader.
Could be confused with a leader that moves: then brokers soon report the next one.
"""

import shlex
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed, node
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


def is_without_leader(recovery: ClientRecovery) -> bool:
    """Whether a client never learned of a working leader."""
    if not is_stuck(recovery):
        return False
    return recovery.first_error_name == "LEADER_NOT_AVAILABLE" or bool(_named_again(recovery))


def _named_again(recovery: ClientRecovery) -> list[str]:
    """Returns the brokers that continued to report a leader which denied being the leader."""
    if recovery.first_error_name != "NOT_LEADER_OR_FOLLOWER":
        return []
    again = (each for each in recovery.leader_reports if each.leader_id == recovery.old_node_id)
    return [node(each.node_id, each.server) for each in again if each.last_ns - recovery.start_ns >= SECOND]


def _sentence(failure: Failure, times: Times) -> str:
    naming = sorted({name for row in failure.recoveries for name in _named_again(row)})
    if naming:
        nodes = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries if _named_again(row)}))
        return (
            f"{nodes[:1].upper()}{nodes[1:]} kept answering that it does not lead {resources(failure)} "
            f"({listed(sorted(failure.error_names))}) {times.of(failure)}, while {listed(naming)} kept naming it"
        )
    return f"{resources(failure)} had no leader {times.of(failure)} ({listed(sorted(failure.error_names))})"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if any(map(_named_again, failure.recoveries)):
        yield brokers(
            "The brokers disagree about who leads it: see the log of the one that was named (does it get the "
            f"controller's updates?), and what the controller says: kafka-topics.sh {observed.tool} --describe "
            f"--topic {shlex.quote(failure.subject)}. The clients reacted correctly."
        )
        return
    yield brokers(
        "Bring back the brokers that have its in-sync replicas: another leader would lose records (an unclean "
        f"election). Which ones: kafka-topics.sh {observed.tool} --describe --unavailable-partitions"
    )
    yield brokers(
        "A broker that came back under another node id (node.id or broker.id changed, an empty log directory) is "
        "another broker: what its former id had stays without a leader until that id is back with its logs."
    )


NO_LEADER = Kind(
    "no_leader",
    "no leader",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
)
