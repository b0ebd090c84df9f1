"""Leaders that moved or were not known, without a failure that explains it.

Looks at errors about leaders that clients got, and at the leaders that Metadata reported before and after. Could be
confused with a controlled shutdown, in which a broker hands its leaders over first (broker_down); with clients that do
not refresh their metadata (stale_client); with partitions without a leader (no_leader); and with a topic that is being
created (topic_created). Proved by a later leader epoch.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.epoch_ahead import EPOCH_AHEAD, is_ahead
from kafkascope_spark.stories.incidents.kinds.no_leader import NO_LEADER, is_without_leader
from kafkascope_spark.stories.incidents.kinds.no_listener import NO_LISTENER, is_without_listener
from kafkascope_spark.stories.incidents.kinds.texts import BY_ERRORS, lower, resources, why_moved
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    return f"Leaders of {resources(failure)} moved, or were not known, {times.of(failure)}{why_moved(failure)}"


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers("Nothing has to be done where leaders were moved on purpose.")
    yield from lower(("metadata_age", "retry_backoff"), observed, "notice")


def _complete(failure: Failure) -> None:
    """Changes the kind if no leader moved: brokers reported no leader during the whole time, or one that denied being
    the leader, the leader had an earlier epoch than the client, or it has no listener for the client."""
    if failure.moved_to:
        return
    if all(map(is_ahead, failure.recoveries)):
        failure.kind = EPOCH_AHEAD
    elif all(is_without_leader(row) for row in failure.recoveries):
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
