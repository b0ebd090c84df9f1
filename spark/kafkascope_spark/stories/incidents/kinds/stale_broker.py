"""A broker that continued to report the old leader of a topic-partition after another broker had reported the new one.

Looks at Metadata responses to clients that got errors of the old leader: leader epochs only rise while a topic lives
(KIP-320), so the leader of a later epoch is right, no matter which broker reports it. Could be confused with an address
that several brokers share, one of which has old metadata.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import named, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery, LeaderReport


def _sentence(failure: Failure, times: Times) -> str:
    outdated = [report for row in failure.recoveries for report in _outdated(failure, row)]
    old = listed(sorted({f"node {report.leader_id}" for report in outdated}))
    last_ns, n = max(report.last_ns for report in outdated), sum(report.n for report in outdated)
    new = min(failure.topic.moved_to.values(), key=lambda leader: leader.since_ns)
    return (
        f"{named(failure)} named {old} as the leader of {resources(failure)} until {times.at(last_ns)} "
        f"({counted(n, 'Metadata response')}), {duration(last_ns - new.since_ns)} after another broker had named node "
        f"{new.node_id} (at {times.at(new.since_ns)}); clients that believed it got errors {times.of(failure)}"
    )


def _outdated(failure: Failure, recovery: ClientRecovery) -> Iterable[LeaderReport]:
    """Returns the broker's reports of the old leader to the client."""
    leader = failure.topic.moved_to[recovery.resource]
    of_broker = (report for report in recovery.leader_reports if report.server == failure.server)
    return (report for report in of_broker if report.leader_id != leader.node_id)


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at {failure.subject}: its metadata is behind that of the controller. Its log and its connection to the "
        "controller for that time; with KRaft how far it has read the metadata log: "
        f"kafka-metadata-quorum.sh {observed.tool} describe --replication; with ZooKeeper whether UpdateMetadata "
        "reached it. Restart it, if it does not catch up."
    )
    yield brokers("The clients asked for Metadata as they should: their settings need no change.")


STALE_BROKER = Kind(
    "stale_broker",
    "broker with stale metadata",
    plural="brokers with stale metadata",
    sentence=_sentence,
    advice=_advice,
    known="leaders in Metadata responses, by who named them when",
    place="broker",
    serves_on=True,
)
