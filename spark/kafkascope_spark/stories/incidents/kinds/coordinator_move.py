"""Coordinators that moved or were not ready, without a failure that explains it.

Looks at errors about coordinators that clients got, and at the coordinators that FindCoordinator returned before and
after. Could be confused with a failed broker, which explains the move; with a coordinator that does not finish loading
(coordinator_loading); and with a cluster without a coordinator (no_coordinator). Proved by the broker that served the
group or transactional id afterwards.
"""

import shlex
from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.coordinator_loading import COORDINATOR_LOADING, is_loading
from kafkascope_spark.stories.incidents.kinds.no_coordinator import NO_COORDINATOR, is_without_coordinator
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, MOST_COMMANDS, why_moved
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.resources import PRODUCER_IDS


def _sentence(failure: Failure, times: Times) -> str:
    coordinated = sorted({r.resource for r in failure.recoveries} - {PRODUCER_IDS}) or [failure.subject]
    if coordinated == [PRODUCER_IDS]:
        why = "brokers were still getting a block of them from the controller"
        return f"Idempotent producers waited for producer ids {times.of(failure)}: {why}"
    moved = f"The coordinator of {listed(coordinated)} moved, or was not ready"
    return f"{moved}, {times.of(failure)}{why_moved(failure)}{_went_on(failure)}"


def _staying(failure: Failure) -> list[ClientRecovery]:
    """Returns the recoveries of clients that repeated their requests at the former coordinator, and never asked for
    another."""
    return [
        row
        for row in failure.recoveries
        if row.outcome == "wrong_reaction" and row.rediscovered_ns is None and row.old_node_id is not None
    ]


def _went_on(failure: Failure) -> str:
    """Returns which client did not look for the coordinator, although others found it."""
    staying = max(_staying(failure), key=lambda row: (row.n_errors, row.recovery_id), default=None)
    if staying is None:
        return ""
    found = {row.new_node_id for row in failure.recoveries if row.new_node_id not in (None, staying.old_node_id)}
    now = f"; for others it is node {found.pop()}" if len(found) == 1 else ""
    return (
        f". {client(staying.client_id, staying.client_ip)} went on asking node {staying.old_node_id}, which "
        f"answered {staying.first_error_name} {times_of(staying.n_errors)}, and never sent FindCoordinator{now}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.resources == {PRODUCER_IDS}:
        yield brokers("None: the producers ask again by themselves.")
        return
    if staying := sorted({row.who for row in _staying(failure)}):
        yield clients(
            f"Restart {listed(staying)}, and update its library: after NOT_COORDINATOR a client has to ask any broker "
            "with FindCoordinator who coordinates now, and to go there. Trying again later, or more slowly, changes "
            "nothing; the brokers are not the cause."
        )
    else:
        yield brokers("Nothing has to be done where brokers were restarted on purpose.")
    groups = {r.resource for r in failure.recoveries if r.resource_kind in ("group", "coordinator")}
    groups &= {stall.group_id for stall in failure.stalls}
    commands = [
        f"kafka-consumer-groups.sh {observed.tool} --describe --state --group {shlex.quote(group)}"
        for group in sorted(groups)[:MOST_COMMANDS]
    ]
    if commands:
        yield brokers(f"Who coordinates now: {'; '.join(commands)}")


def _complete(failure: Failure) -> None:
    """Changes the kind if no coordinator moved: clients found no working coordinator, or one that was still loading."""
    if all(map(is_without_coordinator, failure.recoveries)):
        failure.kind = NO_COORDINATOR
    elif all(map(is_loading, failure.recoveries)):
        failure.kind = COORDINATOR_LOADING


COORDINATOR_MOVE = Kind(
    "coordinator_move",
    "coordinator moved",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="group",
    plural="coordinator moves",
    errors=errors_about("coordinator"),
    is_move=True,
    complete=_complete,
)
