"""A client that keeps requesting a topic-partition with a later leader epoch than its leader has.

Looks at UNKNOWN_LEADER_EPOCH in all responses to the client. Could be confused with a leader that moves: a broker that
has not yet learned that it is the leader returns the same error, but only for a short time.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

_BESIDE = frozenset({"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"})
"""Errors of the former leader, which such a client may ask by turns with the leader."""


def is_ahead(recovery: ClientRecovery) -> bool:
    """Whether the client never used an epoch that the leader knows."""
    return is_stuck(recovery) and set(recovery.error_names) - _BESIDE == {"UNKNOWN_LEADER_EPOCH"}


def _is_named_again(recovery: ClientRecovery) -> bool:
    """Whether Metadata continued to report the broker that returned the error as leader, and no other."""
    leaders = {report.leader_id for report in recovery.leader_reports}
    went_on = any(report.last_ns - recovery.start_ns >= SECOND for report in recovery.leader_reports)
    return went_on and leaders == {recovery.old_node_id}


def _leaders(recovery: ClientRecovery) -> set[int]:
    """Returns the leaders that Metadata named meanwhile, else the broker that returned the first error."""
    named = {report.leader_id for report in recovery.leader_reports}
    return named or ({recovery.old_node_id} if recovery.old_node_id is not None else set())


def _sentence(failure: Failure, times: Times) -> str:
    who = listed(sorted({client(row.client_id, row.client_ip) for row in failure.recoveries}))
    nodes = listed(sorted({f"node {node_id}" for row in failure.recoveries for node_id in _leaders(row)}))
    n = sum(row.n_errors for row in failure.recoveries)
    named, errors = "", sorted({name for row in failure.recoveries for name in row.error_names})
    if all(map(_is_named_again, failure.recoveries)):
        named = f", although Metadata, which the client requested again, still named {nodes} as the leader"
    return (
        f"{who} sent requests for {resources(failure)} to {nodes or 'the leader'} with a later leader epoch than the "
        f"leader has ({listed(errors)}, {times_of(n)}) {times.of(failure)}{named}"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    who = listed(sorted({row.who for row in failure.recoveries}))
    yield clients(
        f"Restart {who}: it begins with the epoch that Metadata names. Then update its library: a client that ignores "
        "an epoch which is lower than the one that it knows gets nothing until then. No setting changes that."
    )
    yield brokers(
        "See why the epoch went back: the topic was deleted and created again under its name, metadata was restored "
        "from an older copy, or brokers of another cluster have these addresses now. Records may be missing then: "
        "compare the ends of the log with what the group had committed before its offsets are changed. Where nothing "
        "of that happened, a broker does not get the controller's updates: see its log."
    )


EPOCH_AHEAD = Kind(
    "epoch_ahead",
    "client with a later leader epoch",
    plural="clients with a later leader epoch",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="client",
)
