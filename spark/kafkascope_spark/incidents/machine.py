"""`Incidents`: stalls, broker states, recoveries and rebalances in; incidents, and what belongs to each, out.

Memory: what stood still or failed, and whom that concerns; never what went well.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafkascope_spark.error_codes import (
    AT_NODE,
    COORDINATOR_MOVED,
    FOLLOWS,
    FOLLOWS_FOR_THE_SAME,
    LED_ELSEWHERE,
    errors_about,
)
from kafkascope_spark.incidents.advertised_listeners import join_listeners
from kafkascope_spark.incidents.affected_client import AFFECTED_CLIENT
from kafkascope_spark.incidents.attribution import (
    AFTER_REBALANCES,
    BESIDE_OTHERS,
    RULES,
    Rule,
    failure_of,
    give_earlier_stalls,
)
from kafkascope_spark.incidents.broker_failures import broker_failures
from kafkascope_spark.incidents.client_failures import AFTER_SILENCE, client_failures
from kafkascope_spark.incidents.consequences import Consequences
from kafkascope_spark.incidents.controlled_shutdown import mark_controlled_shutdowns
from kafkascope_spark.incidents.failure import FOLLOWS_NS, SECOND, Failure
from kafkascope_spark.incidents.failure_index import Failures
from kafkascope_spark.incidents.incident_rows import incident_id, incident_row
from kafkascope_spark.incidents.listener_use import LISTENER_USE
from kafkascope_spark.incidents.misconfigured import Listeners, Misuse
from kafkascope_spark.incidents.observed import Observed, serving_addresses
from kafkascope_spark.incidents.other_failures import give_paths, of_errors, of_rebalances, of_unexplained
from kafkascope_spark.incidents.silent_client import SILENT_CLIENT
from kafkascope_spark.incidents.zookeeper_session import (
    ZOOKEEPER_SESSION,
    ended_sessions,
    give_roots,
    give_sessions,
    of_lost_sessions,
)

Row = dict[str, Any]

MOVED = errors_about("leader", "coordinator")
"""Errors by which a broker says that it does not lead or coordinate any longer, or not yet."""
NOT_LET_IN = errors_about("connection", "authentication")
"""What a client meets whose settings do not fit a listener."""
UNKNOWN_AFTER_START = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"})
"""Errors by which a broker says that it has no metadata of the topic."""


class Incidents:
    """Takes what failed or stood still, and gives what failed. start_ns: start of the capture."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._states: list[Row] = []
        self._stalls: list[Row] = []
        self._recoveries: list[Row] = []
        self._rebalances: list[Row] = []
        self._sessions: list[Row] = []
        self._starts: list[Row] = []
        self._transactions: list[Row] = []
        self._silent: list[Row] = []
        self._listeners = Listeners()
        self._clients: dict[str, Row] = {}
        self._named: set[str] | None = None
        self._rows = {
            "broker_state": self._states,
            "stall": self._stalls,
            "recovery": self._recoveries,
            "rebalance": self._rebalances,
            "failed_start": self._starts,
            "transaction": self._transactions,
            ZOOKEEPER_SESSION: self._sessions,
            SILENT_CLIENT: self._silent,
        }

    def take(self, kind: str, row: Row) -> None:
        """Take a row (incident_stage.FOUND_KINDS). Of the clients, which come last, those are kept that stood still,
        failed or left."""
        if kind == LISTENER_USE:
            self._listeners.take(row)
            return
        if kind != AFFECTED_CLIENT:
            self._rows[kind].append(row)
            return
        if self._named is None:
            self._named = self._named_clients()
        if row["client_instance_id"] in self._named:
            self._clients[row["client_instance_id"]] = row

    def _named_clients(self) -> set[str]:
        departed = (member for row in self._rebalances for member in row["departed"] or ())
        rows = (*self._stalls, *self._recoveries, *self._silent, *self._starts, *departed)
        return self._listeners.client_ids() | {row["client_instance_id"] for row in rows} - {None}

    def finish(self) -> Iterator[tuple[str, Row]]:
        """Rows of broker_states, stalls, incidents and of what belongs to these, each with the name of its table."""
        failures = self._failures()
        incident_of = {s["stall_id"]: incident_id(failure) for failure in failures for s in failure.stalls}
        for state in self._states:
            yield "broker_states", state
        for stall in self._stalls:
            if stall["stall_id"] in incident_of:
                yield "stalls", stall | {"incident_id": incident_of[stall["stall_id"]]}
        consequences = Consequences(failures, self._clients)
        yield from consequences.with_incidents(self._recoveries, self._rebalances, self._starts, self._transactions)
        serving = serving_addresses(self._states)
        for failure in failures:
            observed = Observed(failure, self._clients, serving)
            yield "incidents", incident_row(failure, observed, self._start_ns)

    def _failures(self) -> list[Failure]:
        """All failures, with what belongs to each."""
        of_brokers = self._failures_of_brokers()
        of_clients = [*client_failures(self._silent, self._rebalances), *self._listeners.failures()]
        errors = of_errors(_attribute_recoveries(self._recoveries, [*of_brokers, *of_clients]))
        known = [*of_brokers, *of_clients, *errors]
        left = _attribute_stalls(self._stalls, known)
        of_members = list(of_rebalances((s for s in left if s["group_id"]), self._rebalances))
        explained = {s["stall_id"] for failure in of_members for s in failure.stalls}
        left = [s for s in left if s["stall_id"] not in explained and not _may_be_by_choice(s)]
        left = _attribute_stalls(left, errors, AFTER_REBALANCES)
        left = _attribute_stalls(left, known, BESIDE_OTHERS)
        unexplained = list(of_unexplained(left))
        give_roots(errors, of_brokers)
        give_paths(of_members, of_brokers, self._clients)
        found = [*of_brokers, *of_clients, *of_members, *unexplained, *errors]
        give_earlier_stalls(found)
        return sorted(found, key=lambda f: (f.start_ns, f.kind, f.subject))

    def _failures_of_brokers(self) -> list[Failure]:
        """The failures of brokers and paths, and of brokers that lost their ZooKeeper sessions."""
        failures = join_listeners(broker_failures(self._states), self._clients.values())
        lost = give_sessions(failures, ended_sessions(self._sessions, self._states))
        mark_controlled_shutdowns(failures, self._recoveries)
        return sorted([*failures, *of_lost_sessions(lost)], key=lambda f: (f.start_ns, f.subject))


def _may_be_by_choice(stall: Row) -> bool:
    """Whether a stall that nothing explains may be none: a consumer without a group reads what it likes, and may have
    put a partition aside (the restore consumer of Kafka Streams does)."""
    return stall["kind"] == "consume" and stall["group_id"] is None


def _attribute_stalls(stalls: Iterable[Row], failures: Iterable[Failure], rules: Sequence[Rule] = RULES) -> list[Row]:
    """Gives each stall to its failure. Returns those that belong to none."""
    left, known = [], Failures(failures)
    for stall in stalls:
        failure = failure_of(stall, known, rules)
        if failure is None:
            left.append(stall)
        else:
            failure.stalls.append(stall)
    return left


def _attribute_recoveries(recoveries: Iterable[Row], failures: Iterable[Failure]) -> list[Row]:
    """Gives each recovery to the failure from which it follows: of several to that of its own broker, else to the
    latest. Returns those that follow from none."""
    left, known = [], Failures(failures)
    for recovery in recoveries:
        start = recovery["failing_ns"] or recovery["start_ns"]
        following = (f for f in known.at(start, start) if _follows(recovery, f))
        failure = max(following, key=lambda f: (_is_at(recovery, f), f.start_ns), default=None)
        if failure is None:
            left.append(recovery)
        else:
            failure.take_recovery(recovery)
    return left


def _follows(recovery: Row, failure: Failure) -> bool:
    """Whether the recovery is that of a client from the failed broker, or from what it brought about elsewhere. Brokers
    that do not reach each other let their clients wait for the other's replicas."""
    error, start = recovery["first_error_name"], recovery["failing_ns"] or recovery["start_ns"]
    if failure.silences:
        is_its = recovery["client_instance_id"] in {s["client_instance_id"] for s in failure.silences}
        ended = failure.end_ns is None or start <= failure.end_ns + FOLLOWS_NS
        return is_its and ended and start >= failure.start_ns and error in AFTER_SILENCE
    if failure.misuse is not None:
        return error in NOT_LET_IN and _is_of_misuse(recovery, failure, failure.misuse)
    if start < failure.start_ns - SECOND or (failure.end_ns is not None and start > failure.end_ns + FOLLOWS_NS):
        return False
    if failure.kind == "replication":
        return error in FOLLOWS and recovery["old_node_id"] in {state["node_id"] for state in failure.states}
    if not failure.reaches(recovery["client_ip"]):
        return False
    if failure.kind == "listener":
        return recovery["resource"] in failure.servers
    follows = failure.is_of_broker and error in FOLLOWS | FOLLOWS_FOR_THE_SAME
    return _is_at(recovery, failure) or follows or _is_too_early(recovery, failure)


def _is_of_misuse(recovery: Row, failure: Failure, misuse: Misuse) -> bool:
    """Whether the recovery is that of a client which is not let in anywhere, or that of a client from the listener
    which its settings do not fit."""
    client = recovery["client_instance_id"]
    at_it = recovery["resource_kind"] == "authentication" or recovery["resource"] in misuse.servers
    return client in failure.client_instance_ids or (at_it and client in misuse.client_instance_ids)


def _is_too_early(recovery: Row, failure: Failure) -> bool:
    """Whether a client that lost its coordinator with the broker asked the next one before that knew that it is the
    coordinator: another broker names it as soon as the controller has chosen it."""
    lost = failure.is_of_broker and any(state["host"] == recovery["client_ip"] for state in failure.states)
    goes_on = failure.end_ns is None or (recovery["failing_ns"] or recovery["start_ns"]) <= failure.end_ns
    return lost and goes_on and recovery["first_error_name"] in COORDINATOR_MOVED & LED_ELSEWHERE


def _is_at(recovery: Row, failure: Failure) -> bool:
    """Whether the recovery is that from an error of the failed broker itself. One that restarts knows no topic until
    its controller has named them; a topic that stays unknown is missing."""
    if recovery["old_node_id"] != failure.node_id:
        return False
    error, was_down = recovery["first_error_name"], failure.kind == "broker_down"
    is_new = was_down and recovery["outcome"] == "recovered" and error in UNKNOWN_AFTER_START
    return is_new or error in _errors_at_node(failure)


def _errors_at_node(failure: Failure) -> frozenset[str]:
    """Errors that show the failure where the broker itself returns them: one that lost its ZooKeeper session goes on
    serving, and says that it leads no longer."""
    return MOVED if failure.kind == ZOOKEEPER_SESSION else AT_NODE
