"""Leaders that moved, or were not known, without a failure that explains it.

Looks at errors about leaders that clients met, and at the leaders that Metadata named before and after. Could be
confused with a broker that was shut down in order, which hands its leaders over first (broker_down); with clients that
do not ask who leads now (stale_client); with a leader that nobody names (no_leader); and with a topic that is being
created (topic_created). Proved by a later leader epoch.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.epoch_ahead import EPOCH_AHEAD, is_ahead
from kafkascope_spark.stories.incidents.kinds.no_leader import NO_LEADER, is_without_leader
from kafkascope_spark.stories.incidents.kinds.texts import BY_ERRORS, lower, resources, why_moved
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    return f"Leaders of {resources(failure)} moved, or were not known, {times.of(failure)}{why_moved(failure)}"


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers("Nothing is to be done where leaders were moved on purpose.")
    yield from lower(("metadata_age", "retry_backoff"), observed, "notice")


def _complete(failure: Failure) -> None:
    """Nothing moved where brokers named no leader for as long as clients asked, or one that says that it is none, or
    that it has an earlier epoch."""
    if failure.moved_to:
        return
    if all(map(is_ahead, failure.recoveries)):
        failure.kind = EPOCH_AHEAD
    elif all(is_without_leader(row) for row in failure.recoveries):
        failure.kind = NO_LEADER


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
