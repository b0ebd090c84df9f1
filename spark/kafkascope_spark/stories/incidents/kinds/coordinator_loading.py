"""Coordinators that did not finish loading the state of a group or transactional id.

Looks at COORDINATOR_LOAD_IN_PROGRESS for as long as clients sent requests. Could be confused with a coordinator that
moves: the new one also loads the state, but is soon ready.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


def is_loading(recovery: ClientRecovery) -> bool:
    """Whether the coordinator was still loading at the client's last request."""
    return is_stuck(recovery) and set(recovery.error_names) == {LOADING}


def still_loading(failure: Failure) -> list[ClientRecovery]:
    """Returns the recoveries of a broker's failure whose clients were still told that their coordinator loads long
    after the broker was back."""
    over_ns = failure.end_ns
    if over_ns is None:
        return []
    rows = [row for row in failure.recoveries if is_stuck(row) and LOADING in row.error_names]
    return [row for row in rows if row.last_failed_ns - over_ns > FOLLOWS_NS]


def _nodes(failure: Failure) -> str:
    """Returns the coordinators, in words."""
    nodes = sorted({f"node {row.old_node_id}" for row in failure.recoveries if row.old_node_id is not None})
    return listed(nodes) or "a broker"


def _sentence(failure: Failure, times: Times) -> str:
    who = _nodes(failure)
    n = sum(row.n_errors for row in failure.recoveries)
    longest_ns = max((row.last_failed_ns - row.start_ns for row in failure.recoveries), default=0)
    return (
        f"{who[:1].upper()}{who[1:]}, coordinator of {resources(failure)}, did not finish loading {times.of(failure)}: "
        f"it answered COORDINATOR_LOAD_IN_PROGRESS {times_of(n)}, for up to {duration(longest_ns)}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    who = _nodes(failure)
    yield brokers(
        f"See the log of {who} for what it loads (GroupMetadataManager, TransactionStateManager: when that began, and "
        "an error that ended it). If it goes on, the partition of __consumer_offsets (__transaction_state for a "
        "transactional id) is large, mostly because log cleaning has stopped: see log-cleaner.log. If it does not, "
        "let another in-sync replica lead that partition, by a restart of the broker or an election: "
        f"kafka-topics.sh {observed.tool} --describe --topic __consumer_offsets. Delete nothing from these topics."
    )
    yield clients("Nothing has to change: they ask again, and go on once it is loaded. A restart does not help.")


COORDINATOR_LOADING = Kind(
    "coordinator_loading",
    "coordinator does not finish loading",
    plural="coordinators do not finish loading",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="group",
)
