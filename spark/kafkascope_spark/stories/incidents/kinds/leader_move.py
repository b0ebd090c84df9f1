"""Leaders that moved or were not known, without a failure that explains it.

Looks at errors about leaders that clients got, and at the leaders that Metadata reported before and after. Could be
confused with a controlled shutdown, in which a broker hands its leaders over first (broker_down); with clients that do
not refresh their metadata (stale_client); with partitions without a leader (no_leader); and with a topic that is being
created (topic_created). Proved by a later leader epoch.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.no_leader import NO_LEADER, is_without_leader
from kafkascope_spark.stories.incidents.kinds.no_listener import NO_LISTENER, is_without_listener
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, lower, resources, why_moved


def _sentence(failure: Failure, times: Times) -> str:
    if failure.is_flapping:
        return (
            f"Leaders of {resources(failure)} moved again and again {times.of(failure)}: brokers named another leader "
            f"{times_of(len(failure.topic.moves_ns))}, from {times.at(failure.topic.moves_ns[0])} to "
            f"{times.at(failure.topic.moves_ns[-1])}"
        )
    return f"Leaders of {resources(failure)} moved, or were not known, {times.of(failure)}{why_moved(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.is_flapping:
        yield brokers(
            "Find out why leaders do not stay: the log of the controller names the reason of each election. Brokers "
            "that lose their sessions or elections again and again (pauses of the JVM, a slow disk, a network that "
            "drops packets between brokers), a broker that is started again and again, or a tool that moves "
            "leaders (Cruise Control, a script for preferred leaders), are the usual ones."
        )
        yield clients("Their settings are not the cause: each finds the next leader, and loses it again.")
        return
    yield brokers("Nothing has to be done where leaders were moved on purpose.")
    yield from lower(("metadata_age", "retry_backoff"), observed, "notice")


def _complete(failure: Failure) -> None:
    """Changes the kind if no leader moved: brokers reported no leader during the whole time, or one that denied being
    the leader, or the leader has no listener for the client."""
    if failure.topic.moved_to:
        return
    if all(is_without_leader(row) for row in failure.recoveries):
        failure.kind = NO_LEADER
    elif all(map(is_without_listener, failure.recoveries)):
        failure.kind = NO_LISTENER


LEADER_MOVE = Kind(
    "leader_move",
    "leader moved",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
    plural="leader moves",
    errors=errors_about("leader") | {"REPLICA_NOT_AVAILABLE"},
    is_move=True,
    complete=_complete,
)
