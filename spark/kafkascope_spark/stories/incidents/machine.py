"""`Incidents`: makes incidents, with everything that belongs to them, from stalls, broker states, recoveries and
rebalances.

Memory: rows of stalls and failures and the clients that they name; never rows of what worked.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, cached_property, partial
from typing import TypeVar, assert_never

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.attribution.attribution import (
    AFTER_REBALANCES,
    BESIDE_OTHERS,
    attribute_stalls,
    give_earlier_stalls,
)
from kafkascope_spark.stories.incidents.attribution.consequences import Consequences
from kafkascope_spark.stories.incidents.attribution.families import give_further_stalls, with_families
from kafkascope_spark.stories.incidents.attribution.held_transactions import held_transactions
from kafkascope_spark.stories.incidents.attribution.hidden_leaders import without_hidden
from kafkascope_spark.stories.incidents.attribution.recovery_attribution import (
    attribute_recoveries,
    failures_by_resource,
)
from kafkascope_spark.stories.incidents.attribution.stall_candidates import KnownFailures
from kafkascope_spark.stories.incidents.brokers.advertised_listeners import give_nodes, join_listeners
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.client_listeners import name_by_client_listeners
from kafkascope_spark.stories.incidents.brokers.cluster_failures import cluster_failures, mark_cut_hosts
from kafkascope_spark.stories.incidents.brokers.controlled_shutdown import mark_controlled_shutdowns
from kafkascope_spark.stories.incidents.brokers.controllers import (
    Listener,
    give_absent_controllers,
    give_controllers,
    join_cut_controllers,
)
from kafkascope_spark.stories.incidents.brokers.late_responses import with_late_responses
from kafkascope_spark.stories.incidents.brokers.links import with_links
from kafkascope_spark.stories.incidents.brokers.log_directories import log_directory_failures
from kafkascope_spark.stories.incidents.brokers.restarted_brokers import restarted_brokers
from kafkascope_spark.stories.incidents.brokers.warm_ups import without_warm_ups
from kafkascope_spark.stories.incidents.brokers.zookeeper_session import (
    ended_sessions,
    give_roots,
    give_sessions,
    of_lost_sessions,
)
from kafkascope_spark.stories.incidents.clients.client_failures import client_failures
from kafkascope_spark.stories.incidents.clients.died_clients import died_clients
from kafkascope_spark.stories.incidents.clients.late_polls import late_polls
from kafkascope_spark.stories.incidents.clients.late_retries import late_retries
from kafkascope_spark.stories.incidents.clients.left_out import left_after_moves, mark_left_out
from kafkascope_spark.stories.incidents.clients.misconfigured import Listeners
from kafkascope_spark.stories.incidents.clients.slow_consumers import slow_consumers
from kafkascope_spark.stories.incidents.course.sightings import NO_PACKETS, Packets
from kafkascope_spark.stories.incidents.course.steps import give_courses
from kafkascope_spark.stories.incidents.errors.ended_sasl_sessions import ended_sasl_sessions
from kafkascope_spark.stories.incidents.errors.error_messages import give_messages
from kafkascope_spark.stories.incidents.errors.lost_records import give_waiting, lost_records
from kafkascope_spark.stories.incidents.errors.other_failures import (
    give_places,
    of_errors,
    of_rebalances,
    of_unexplained,
)
from kafkascope_spark.stories.incidents.errors.other_partitions import mark_other_partitions
from kafkascope_spark.stories.incidents.errors.recreated_topics import mark_recreated
from kafkascope_spark.stories.incidents.errors.short_timeouts import mark_short_timeouts
from kafkascope_spark.stories.incidents.errors.stale_metadata import may_have_moved, moved, of_stale_metadata
from kafkascope_spark.stories.incidents.errors.topics_elsewhere import mark_elsewhere
from kafkascope_spark.stories.incidents.errors.unanswered import unanswered_failures
from kafkascope_spark.stories.incidents.extent.error_brackets import give_error_brackets
from kafkascope_spark.stories.incidents.extent.localization import localize
from kafkascope_spark.stories.incidents.extent.repeated import with_repeated
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed, serving_addresses
from kafkascope_spark.stories.incidents.groups.dead_members import give_dead
from kafkascope_spark.stories.incidents.groups.given_member_ids import give_unused_ids
from kafkascope_spark.stories.incidents.groups.given_up_joins import give_given_up
from kafkascope_spark.stories.incidents.groups.held_members import give_held
from kafkascope_spark.stories.incidents.groups.other_subscriptions import without_other_subscriptions
from kafkascope_spark.stories.incidents.groups.silent_leaders import give_silent_leaders
from kafkascope_spark.stories.incidents.groups.slow_groups import join_slow_members
from kafkascope_spark.stories.incidents.groups.unreleased_instances import give_unreleased
from kafkascope_spark.stories.incidents.hosts.client_hosts import slow_hosts, unreachable_hosts, with_cut_hosts
from kafkascope_spark.stories.incidents.hosts.connecting_hosts import give_connecting_hosts
from kafkascope_spark.stories.incidents.hosts.dead_addresses import mark_dead_addresses
from kafkascope_spark.stories.incidents.hosts.encrypted_hosts import give_encrypted_hosts
from kafkascope_spark.stories.incidents.hosts.lost_flows import join_forgotten, lost_flows
from kafkascope_spark.stories.incidents.hosts.name_servers import name_server_failures
from kafkascope_spark.stories.incidents.hosts.turned_away import turned_away_hosts
from kafkascope_spark.stories.incidents.packets.leadership import Leader, Leadership
from kafkascope_spark.stories.incidents.rows.harm import give_fetched_again
from kafkascope_spark.stories.incidents.rows.incident_rows import incident_id, incident_row
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

R = TypeVar("R")
T = TypeVar("T")

Found = (
    AffectedClient
    | BrokerState
    | ClientRecovery
    | FetchedAgain
    | ListenerUse
    | LookupRun
    | RebalanceRow
    | SilentClient
    | Stall
    | StartupRow
    | TransactionRow
    | ZooKeeperSession
)
"""Rows from which incidents are made."""
INCIDENT_DETECTOR, INCIDENT = "incident detector", "incident"
"""Kinds of failed parts: a detector below, or a single incident."""


class Incidents:
    """Collects rows of stalls and failures, and makes the incidents from them. start_ns: start of the capture;
    failed_parts: collects detectors and incidents that raise an error, so that the others still run; leadership_of:
    returns the leaders of some topic-partitions over time; packets: answers questions about single requests; stall_ms:
    shortest wait that counts as a stall."""

    def __init__(
        self,
        start_ns: int,
        failed_parts: FailedParts | None = None,
        leadership_of: Callable[[Collection[str]], Leadership] = lambda _: Leadership(),
        packets: Packets = NO_PACKETS,
        stall_ms: int = DEFAULT_STALL_MS,
    ) -> None:
        self._start_ns = start_ns
        self._leadership_of = leadership_of
        self._packets = packets
        self._stall_ms = stall_ms
        self._failed_parts = FailedParts() if failed_parts is None else failed_parts
        self._is_complete = True
        """Whether no detector has failed. Only then are stalls without an explanation reported as unexplained."""
        self._states: list[BrokerState] = []
        self._stalls: list[Stall] = []
        self._recoveries: list[ClientRecovery] = []
        self._rebalances: list[RebalanceRow] = []
        self._sessions: list[ZooKeeperSession] = []
        self._starts: list[StartupRow] = []
        self._silent: list[SilentClient] = []
        self._transactions: list[TransactionRow] = []
        self._listeners = Listeners()
        self._lookups: list[LookupRun] = []
        self._fetched_again: list[FetchedAgain] = []
        self._clients: dict[str, AffectedClient] = {}
        self._named: set[str] | None = None

    def take(self, row: Found) -> None:
        """Takes a row. Clients must come last: only those that stalled, failed or left are kept."""
        match row:
            case AffectedClient():
                self._take_client(row)
            case BrokerState():
                self._states.append(row)
            case ClientRecovery():
                self._recoveries.append(row)
            case FetchedAgain():
                self._fetched_again.append(row)
            case ListenerUse():
                self._listeners.take(row)
            case LookupRun():
                self._lookups.append(row)
            case RebalanceRow():
                self._rebalances.append(row)
            case SilentClient():
                self._silent.append(row)
            case Stall():
                self._stalls.append(row)
            case StartupRow():
                self._starts.append(row)
            case TransactionRow():
                self._transactions.append(row)
            case ZooKeeperSession():
                self._sessions.append(row)
            case _:
                assert_never(row)

    def _take_client(self, client: AffectedClient) -> None:
        if self._named is None:
            self._named = self._named_clients()
        if client.client_instance_id in self._named or client.died_ns is not None:
            self._clients[client.client_instance_id] = client

    def _named_clients(self) -> set[str]:
        named = {member.client_instance_id for row in self._rebalances for member in row.departed}
        named |= {stall.client_instance_id for stall in self._stalls}
        named |= {silent.client_instance_id for silent in self._silent}
        named |= {start.client_instance_id for start in self._starts}
        named |= {transaction.client_instance_id for transaction in self._transactions}
        named |= {reader.client_instance_id for row in self._transactions for reader in row.held_back}
        named |= {recovery.client_instance_id for recovery in self._recoveries}
        return self._listeners.client_ids() | {client for client in named if client is not None}

    def finish(self) -> Iterator[StoryRow]:
        """Yields broker states, stalls, recoveries, rebalances, starts and transactions with their incidents, then the
        incidents."""
        self._do("hidden leaders", self._leave_hidden_out)
        incidents = self._with_rows(self._failures())
        incident_of = {s.stall_id: row.incident_id for failure, row in incidents.items() for s in failure.stalls}
        yield from self._states
        for stall in self._stalls:
            if stall.stall_id in incident_of or not (self._is_complete or _may_be_by_choice(stall)):
                stall.incident_id = incident_of.get(stall.stall_id)
                yield stall
        yield from self._with_incidents({failure: row.incident_id for failure, row in incidents.items()})
        yield from incidents.values()

    def _leave_hidden_out(self) -> None:
        left = without_hidden(self._stalls, self._states, lambda: self._leadership, self._stall_ms)
        self._stalls = list(left)

    @cached_property
    def _leadership(self) -> Leadership:
        """Leaders and coordinators as brokers reported them, without the nodes that served."""
        return self._leadership_of(())

    def _with_rows(self, failures: list[Failure]) -> dict[Failure, IncidentRow]:
        """Returns the row of each failure; failures whose row raises an error are left out."""
        serving = serving_addresses(self._states)
        identity = cache(incident_id)
        rows: dict[Failure, IncidentRow] = {}
        for failure in failures:
            with self._failed_parts.part(INCIDENT, f"{failure.kind.name} {failure.subject}") as part:
                observed = Observed(failure, self._clients, serving)
                rows[failure] = incident_row(failure, observed, identity, self._start_ns)
            self._is_complete &= not part.has_failed
        return with_families(rows)

    def _with_incidents(self, ids: dict[Failure, str]) -> Iterator[StoryRow]:
        """Yields recoveries, rebalances, starts and transactions with their incidents; without incidents if that raises
        an error. ids: incident_id of each failure."""
        given = (self._recoveries, self._rebalances, self._starts, self._transactions)

        def rows(known: dict[Failure, str]) -> list[StoryRow]:
            return list(Consequences(known, self._clients).with_incidents(*given))

        made = self._failed_parts.value(INCIDENT, "what followed from them", None, lambda: rows(ids))
        yield from rows({}) if made is None else made

    def _failures(self) -> list[Failure]:
        """Returns all failures with the rows that belong to them. A detector that raises an error finds none."""
        of_brokers = self._found("brokers", self._failures_of_brokers)
        of_clients = self._failures_of_clients(of_brokers)
        logs = self._found("log directories", lambda: log_directory_failures(self._recoveries))
        taken = {row.recovery_id for failure in logs for row in failure.recoveries}
        met = [row for row in self._recoveries if row.recovery_id not in taken]
        by_themselves = self._left(attribute_recoveries, met, [*of_brokers, *logs, *of_clients], failures_by_resource)
        errors = [*logs, *self._failures_of_errors(by_themselves)]
        lost = self._found("lost records", lambda: lost_records(by_themselves))
        of_clients += self._found("SASL sessions", lambda: ended_sasl_sessions(by_themselves))
        known = [*of_brokers, *of_clients, *errors]
        left = self._left(attribute_stalls, self._stalls, known, KnownFailures)
        unanswered = self._found(
            "unanswered requests",
            lambda: unanswered_failures(left, self._packets.unanswered, self._packets.latencies),
        )
        left = _without(left, unanswered)
        of_groups = [stall for stall in left if stall.group_id]
        of_members = self._found("group members", lambda: of_rebalances(of_groups, self._rebalances))
        of_members = self._found("subscriptions", lambda: without_other_subscriptions(of_members, errors))
        self._do("dead members", lambda: give_dead(of_members, self._rebalances, self._clients))
        left = [stall for stall in _without(left, of_members) if not _may_be_by_choice(stall)]
        left = self._left(partial(attribute_stalls, rules=AFTER_REBALANCES), left, errors, KnownFailures)
        left = self._left(partial(attribute_stalls, rules=BESIDE_OTHERS), left, known, KnownFailures)
        left = self._waiting_for_lost(lost, left)
        late = self._late_clients(left, by_themselves, of_clients)
        left = _without(left, [*late, *of_clients])
        unexplained = self._found("unexplained", lambda: self._of_unexplained(left)) if self._is_complete else []
        self._do("roots", lambda: give_roots(errors, of_brokers))
        self._do("unreleased instances", lambda: give_unreleased(errors, of_members))
        lost_places = [*of_members, *(failure for failure in errors if failure.kind.of_members)]
        self._do("places of members", lambda: give_places(lost_places, [*of_brokers, *of_clients], self._clients))
        others = [*of_brokers, *of_clients, *unanswered, *of_members, *late, *unexplained, *errors, *lost]
        found = [*others, *self._of_ended_or_late_clients(others)]
        self._do("earlier stalls", lambda: give_earlier_stalls(found))
        self._do("records fetched again", lambda: give_fetched_again(found, self._fetched_again))
        self._do("error messages", lambda: give_messages(found, self._packets))
        self._do("long polls", lambda: give_held(found, self._packets, self._clients))
        self._do("joins that were given up", lambda: give_given_up(found, self._packets))
        self._give_what_held_groups_up(found)
        self._give_courses(found)
        self._do("times of errors", lambda: give_error_brackets(found, self._packets.last_successes))
        found += self._found("cluster", lambda: cluster_failures(of_brokers, self._states))
        self._give_waiting_hosts(found)
        self._do("addresses of names", lambda: mark_dead_addresses(found, self._lookups, self._states))
        self._do("places", lambda: self._localize(found))
        found = with_repeated(found)
        self._do("stalls of consequences", lambda: give_further_stalls(found))
        return found

    def _failures_of_clients(self, of_brokers: list[Failure]) -> list[Failure]:
        """Returns the failures of clients, their hosts, and what they use to reach brokers. of_brokers: those of
        brokers and paths; failures of paths that were those of a client host are removed from it."""
        of_clients = [
            *self._found("silent clients", lambda: client_failures(self._silent, self._rebalances)),
            *self._found("listeners", self._listeners.failures),
            *self._found("slow consumers", lambda: slow_consumers(self._rebalances, self._clients)),
            *self._found("client hosts", lambda: unreachable_hosts(self._states, of_brokers)),
            *self._found("slow hosts", lambda: slow_hosts(self._states, of_brokers)),
            *self._found("lost connections", lambda: lost_flows(self._states, of_brokers)),
            *self._found("name servers", lambda: name_server_failures(self._lookups)),
        ]
        self._do("nodes of listeners", lambda: give_nodes(of_clients, self._states))
        self._do("forgotten hosts", lambda: join_forgotten(of_brokers, of_clients))
        return of_clients + self._found("turned away hosts", lambda: turned_away_hosts(self._states, of_clients))

    def _give_courses(self, failures: list[Failure]) -> None:
        """Sets the steps that followed, and whether the controllers were lost, too, until the cluster reacted."""
        self._do("courses", lambda: give_courses(failures, lambda: self._leadership, self._packets))
        self._do("absent controllers", lambda: give_absent_controllers(failures))

    def _give_waiting_hosts(self, failures: list[Failure]) -> None:
        """Sets the hosts that waited, where no client is known of which a stall would show that."""
        waits = self._packets.connection_waits
        self._do("connecting hosts", lambda: give_connecting_hosts(failures, waits, self._stall_ms))
        self._do("encrypted hosts", lambda: give_encrypted_hosts(failures, self._packets.encrypted))

    def _give_what_held_groups_up(self, failures: list[Failure]) -> None:
        """Sets the leaders and the member ids for which rebalances waited."""
        given = (self._rebalances, self._packets, self._clients)
        self._do("silent leaders", lambda: give_silent_leaders(failures, *given))
        self._do("unused member ids", lambda: give_unused_ids(failures, self._packets))

    def _late_clients(
        self, stalls: list[Stall], recoveries: list[ClientRecovery], of_clients: list[Failure]
    ) -> list[Failure]:
        """Returns the failures of clients that fetched late, left topic-partitions out or tried again late, without
        those that belong to a failure of of_clients."""
        moved = self._found("after moves", lambda: left_after_moves(stalls, self._recoveries))
        others = _without(stalls, moved)
        late = self._found("late polls", lambda: late_polls(others))
        self._do("partitions left out", lambda: mark_left_out([*moved, *late], self._packets.fetches))
        retries = self._found("late retries", lambda: late_retries(_without(others, late), recoveries))
        return [*moved, *self._found("slow groups", lambda: join_slow_members(of_clients, late)), *retries]

    def _localize(self, found: list[Failure]) -> None:
        localize(found, self._states, self._packets.contrasts)
        mark_cut_hosts(found)

    def _of_ended_or_late_clients(self, others: list[Failure]) -> list[Failure]:
        """Returns the failures of clients that ended without a clean close, and of those that ended a transaction late,
        unless these follow from the others."""
        clients, transactions = self._clients, self._transactions
        died = self._found("clients that died", lambda: died_clients(clients.values(), others, transactions))
        known = [*others, *died]
        held = self._found("held transactions", lambda: held_transactions(transactions, clients, known, self._start_ns))
        return [*died, *held]

    def _waiting_for_lost(self, lost: list[Failure], stalls: list[Stall]) -> list[Stall]:
        """Returns the stalls that lost records do not explain."""
        left: list[Stall] = []
        return left if self._do("lost records", lambda: left.extend(give_waiting(lost, stalls))) else stalls

    def _of_unexplained(self, stalls: list[Stall]) -> Iterator[Failure]:
        """Yields the failures that only the stalls show, and late responses of that time."""
        return with_late_responses(of_unexplained(stalls), self._packets.latencies)

    def _failures_of_errors(self, recoveries: list[ClientRecovery]) -> list[Failure]:
        """Returns the failures that errors show by themselves: stale metadata, and those of all other kinds of
        errors."""
        moved_to: dict[str, Leader] = {}

        def stale_metadata() -> Iterator[Failure]:
            asked = [row for row in recoveries if may_have_moved(row)]
            leadership = self._leadership_of({row.resource for row in asked}) if asked else Leadership()
            moved_to.update(moved(recoveries, leadership))
            yield from of_stale_metadata(asked, moved_to, leadership)

        stale = self._found("stale metadata", stale_metadata)
        taken = {row.recovery_id for failure in stale for row in failure.recoveries}
        others = [row for row in recoveries if row.recovery_id not in taken]
        found = self._found("errors", lambda: of_errors(others, moved_to))
        self._do("partitions of requests", lambda: mark_other_partitions(stale, self._packets.named))
        self._do("topic ids", lambda: mark_recreated(found, self._leadership_of, self._packets.deletions))
        self._do("topics of other clusters", lambda: mark_elsewhere(found, self._packets.clusters_of_topics))
        self._do("short timeouts", lambda: mark_short_timeouts(found, self._packets.latencies))
        return [*stale, *found]

    def _failures_of_brokers(self) -> list[Failure]:
        """Returns the failures of brokers and paths, brokers that lost their ZooKeeper sessions, and restarts."""
        failures = join_listeners(broker_failures(self._states), self._clients.values())
        failures = with_links(with_cut_hosts(failures, self._states), self._states, self._packets.latencies)
        self._do("listeners of clients", lambda: name_by_client_listeners(failures, self._states))
        lost = self._found(
            "ZooKeeper sessions",
            lambda: of_lost_sessions(give_sessions(failures, ended_sessions(self._sessions, self._states))),
        )
        of_clients: dict[str, set[Listener]] = defaultdict(set)
        for row in self._states:
            if row.host_kind == "client":
                of_clients[row.server_ip].add(Listener(row.server_port, row.node_id))
        self._do("controllers", lambda: give_controllers(failures, self._packets.roles, of_clients))
        self._do("cut controllers", lambda: join_cut_controllers(failures, self._packets.roles, self._states))
        restarted = self._found("restarts", lambda: self._restarts(failures))
        return sorted(without_warm_ups([*failures, *lost, *restarted]), key=lambda f: (f.start_ns, f.subject))

    def _restarts(self, failures: list[Failure]) -> Iterator[Failure]:
        """Yields the restarts that no failure of a broker shows. Also moves the start of failures that were controlled
        shutdowns."""
        processes = self._packets.processes()
        mark_controlled_shutdowns(failures, self._recoveries, processes.heartbeats)
        return restarted_brokers(processes.restarts, failures, self._states)

    def _found(self, detector: str, find: Callable[[], Iterable[Failure]]) -> list[Failure]:
        """Returns the failures that a detector finds; none if it raises an error."""
        found: list[Failure] = []
        self._do(detector, lambda: found.extend(find()))
        return found

    def _left(
        self,
        attribute: Callable[[list[R], T], list[R]],
        rows: list[R],
        failures: list[Failure],
        index: Callable[[list[Failure]], T],
    ) -> list[R]:
        """Attributes rows to failures and returns those that belong to none. If that raises an error, it is repeated
        row by row, and a row that raises one is dropped. index: makes the index of failures that attribute needs; it is
        made once."""
        if not rows:
            return []
        left: list[R] = []
        known: list[T] = []
        if not self._do("what belongs to them", lambda: known.append(index(failures))):
            return []

        def take(some: list[R]) -> None:
            left.extend(attribute(some, known[0]))

        if not self._do("what belongs to them", partial(take, rows)):
            belonging = {id(row) for failure in failures for row in (*failure.stalls, *failure.recoveries)}
            for row in rows:
                if id(row) not in belonging:
                    self._do("what belongs to them", partial(take, [row]))
        return left

    def _do(self, detector: str, step: Callable[[], None]) -> bool:
        """Runs a step. Returns whether it raised no error."""
        with self._failed_parts.part(INCIDENT_DETECTOR, detector) as part:
            step()
        self._is_complete &= not part.has_failed
        return not part.has_failed


def _without(stalls: Iterable[Stall], failures: Iterable[Failure]) -> list[Stall]:
    """Returns the stalls that belong to none of the failures."""
    explained = {stall.stall_id for failure in failures for stall in failure.stalls}
    return [stall for stall in stalls if stall.stall_id not in explained]


def _may_be_by_choice(stall: Stall) -> bool:
    """Whether an unexplained stall may be no stall at all: a consumer without a group chooses what it reads, and may
    have paused a partition (as the restore consumer of Kafka Streams does); and the controller may need long for an
    admin request."""
    return (stall.kind == "consume" and stall.group_id is None) or stall.kind == "admin"
