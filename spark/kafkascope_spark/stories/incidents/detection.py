"""`Detection`: finds the failures of a capture, in the order in which detectors need the results of each other."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, partial

from kafkascope_spark.stories.incidents.attribution.attribution import (
    AFTER_REBALANCES,
    BESIDE_OTHERS,
    attribute_stalls,
    give_earlier_stalls,
)
from kafkascope_spark.stories.incidents.attribution.families import give_further_stalls
from kafkascope_spark.stories.incidents.attribution.held_transactions import held_transactions
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
from kafkascope_spark.stories.incidents.clients.slow_consumers import slow_consumers
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.course.steps import give_courses
from kafkascope_spark.stories.incidents.detectors import Detectors
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
from kafkascope_spark.stories.incidents.observations import Observations
from kafkascope_spark.stories.incidents.packets.leadership import Leader, Leadership
from kafkascope_spark.stories.incidents.rows.harm import give_fetched_again
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import Stall


class Detection:
    """Finds the failures that rows show, with the rows that belong to them. rows: everything that was observed;
    run: runs the detectors; leadership_of: returns the leaders of some topic-partitions over time; packets: answers
    questions about single requests; start_ns: start of the capture; stall_ms: shortest wait that counts as a
    stall."""

    def __init__(
        self,
        rows: Observations,
        run: Detectors,
        leadership_of: Callable[[Collection[str]], Leadership],
        packets: Packets,
        start_ns: int,
        stall_ms: int,
    ) -> None:
        self._rows = rows
        self._run = run
        self._leadership_of = leadership_of
        self._packets = packets
        self._start_ns = start_ns
        self._stall_ms = stall_ms

    @cached_property
    def leadership(self) -> Leadership:
        """Leaders and coordinators as brokers reported them, without the nodes that served."""
        return self._leadership_of(())

    def failures(self) -> list[Failure]:
        """Returns all failures with the rows that belong to them. A detector that raises an error finds none."""
        rows, run = self._rows, self._run
        of_brokers = run.found("brokers", self._failures_of_brokers)
        of_clients = self._failures_of_clients(of_brokers)
        logs = run.found("log directories", lambda: log_directory_failures(rows.recoveries))
        taken = {row.recovery_id for failure in logs for row in failure.recoveries}
        met = [row for row in rows.recoveries if row.recovery_id not in taken]
        by_themselves = run.left(attribute_recoveries, met, [*of_brokers, *logs, *of_clients], failures_by_resource)
        errors = [*logs, *self._failures_of_errors(by_themselves)]
        lost = run.found("lost records", lambda: lost_records(by_themselves))
        of_clients += run.found("SASL sessions", lambda: ended_sasl_sessions(by_themselves))
        known = [*of_brokers, *of_clients, *errors]
        left = run.left(attribute_stalls, rows.stalls, known, KnownFailures)
        unanswered = run.found(
            "unanswered requests",
            lambda: unanswered_failures(left, self._packets.unanswered, self._packets.latencies),
        )
        left = _without(left, unanswered)
        of_groups = [stall for stall in left if stall.group_id]
        of_members = run.found("group members", lambda: of_rebalances(of_groups, rows.rebalances))
        of_members = run.found("subscriptions", lambda: without_other_subscriptions(of_members, errors))
        run.do("dead members", lambda: give_dead(of_members, rows.rebalances, rows.clients))
        left = [stall for stall in _without(left, of_members) if not may_be_by_choice(stall)]
        left = run.left(partial(attribute_stalls, rules=AFTER_REBALANCES), left, errors, KnownFailures)
        left = run.left(partial(attribute_stalls, rules=BESIDE_OTHERS), left, known, KnownFailures)
        left = self._waiting_for_lost(lost, left)
        late = self._late_clients(left, by_themselves, of_clients)
        left = _without(left, [*late, *of_clients])
        unexplained = run.found("unexplained", lambda: self._of_unexplained(left)) if run.is_complete else []
        run.do("roots", lambda: give_roots(errors, of_brokers))
        run.do("unreleased instances", lambda: give_unreleased(errors, of_members))
        lost_places = [*of_members, *(failure for failure in errors if failure.kind.of_members)]
        run.do("places of members", lambda: give_places(lost_places, [*of_brokers, *of_clients], rows.clients))
        others = [*of_brokers, *of_clients, *unanswered, *of_members, *late, *unexplained, *errors, *lost]
        found = [*others, *self._of_ended_or_late_clients(others)]
        run.do("earlier stalls", lambda: give_earlier_stalls(found))
        run.do("records fetched again", lambda: give_fetched_again(found, rows.fetched_again))
        run.do("error messages", lambda: give_messages(found, self._packets))
        run.do("long polls", lambda: give_held(found, self._packets, rows.clients))
        run.do("joins that were given up", lambda: give_given_up(found, self._packets))
        self._give_what_held_groups_up(found)
        self._give_courses(found)
        run.do("times of errors", lambda: give_error_brackets(found, self._packets.last_successes))
        found += run.found("cluster", lambda: cluster_failures(of_brokers, rows.states))
        self._give_waiting_hosts(found)
        run.do("addresses of names", lambda: mark_dead_addresses(found, rows.lookups, rows.states))
        run.do("places", lambda: self._localize(found))
        found = with_repeated(found)
        run.do("stalls of consequences", lambda: give_further_stalls(found))
        return found

    def _failures_of_clients(self, of_brokers: list[Failure]) -> list[Failure]:
        """Returns the failures of clients, their hosts, and what they use to reach brokers. of_brokers: those of
        brokers and paths; failures of paths that were those of a client host are removed from it."""
        rows, run = self._rows, self._run
        of_clients = [
            *run.found("silent clients", lambda: client_failures(rows.silent, rows.rebalances)),
            *run.found("listeners", rows.listeners.failures),
            *run.found("slow consumers", lambda: slow_consumers(rows.rebalances, rows.clients)),
            *run.found("client hosts", lambda: unreachable_hosts(rows.states, of_brokers)),
            *run.found("slow hosts", lambda: slow_hosts(rows.states, of_brokers)),
            *run.found("lost connections", lambda: lost_flows(rows.states, of_brokers)),
            *run.found("name servers", lambda: name_server_failures(rows.lookups)),
        ]
        run.do("nodes of listeners", lambda: give_nodes(of_clients, rows.states))
        run.do("forgotten hosts", lambda: join_forgotten(of_brokers, of_clients))
        return of_clients + run.found("turned away hosts", lambda: turned_away_hosts(rows.states, of_clients))

    def _give_courses(self, failures: list[Failure]) -> None:
        """Sets the steps that followed, and whether the controllers were lost, too, until the cluster reacted."""
        self._run.do("courses", lambda: give_courses(failures, lambda: self.leadership, self._packets))
        self._run.do("absent controllers", lambda: give_absent_controllers(failures))

    def _give_waiting_hosts(self, failures: list[Failure]) -> None:
        """Sets the hosts that waited, where no client is known of which a stall would show that."""
        waits = self._packets.connection_waits
        self._run.do("connecting hosts", lambda: give_connecting_hosts(failures, waits, self._stall_ms))
        self._run.do("encrypted hosts", lambda: give_encrypted_hosts(failures, self._packets.encrypted))

    def _give_what_held_groups_up(self, failures: list[Failure]) -> None:
        """Sets the leaders and the member ids for which rebalances waited."""
        given = (self._rows.rebalances, self._packets, self._rows.clients)
        self._run.do("silent leaders", lambda: give_silent_leaders(failures, *given))
        self._run.do("unused member ids", lambda: give_unused_ids(failures, self._packets))

    def _late_clients(
        self, stalls: list[Stall], recoveries: list[ClientRecovery], of_clients: list[Failure]
    ) -> list[Failure]:
        """Returns the failures of clients that fetched late, left topic-partitions out or tried again late, without
        those that belong to a failure of of_clients."""
        moved = self._run.found("after moves", lambda: left_after_moves(stalls, self._rows.recoveries))
        others = _without(stalls, moved)
        late = self._run.found("late polls", lambda: late_polls(others))
        self._run.do("partitions left out", lambda: mark_left_out([*moved, *late], self._packets.fetches))
        retries = self._run.found("late retries", lambda: late_retries(_without(others, late), recoveries))
        return [*moved, *self._run.found("slow groups", lambda: join_slow_members(of_clients, late)), *retries]

    def _localize(self, found: list[Failure]) -> None:
        localize(found, self._rows.states, self._packets.contrasts)
        mark_cut_hosts(found)

    def _of_ended_or_late_clients(self, others: list[Failure]) -> list[Failure]:
        """Returns the failures of clients that ended without a clean close, and of those that ended a transaction late,
        unless these follow from the others."""
        clients, transactions = self._rows.clients, self._rows.transactions
        died = self._run.found("clients that died", lambda: died_clients(clients.values(), others, transactions))
        known = [*others, *died]
        held = self._run.found(
            "held transactions", lambda: held_transactions(transactions, clients, known, self._start_ns)
        )
        return [*died, *held]

    def _waiting_for_lost(self, lost: list[Failure], stalls: list[Stall]) -> list[Stall]:
        """Returns the stalls that lost records do not explain."""
        left: list[Stall] = []
        return left if self._run.do("lost records", lambda: left.extend(give_waiting(lost, stalls))) else stalls

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

        stale = self._run.found("stale metadata", stale_metadata)
        taken = {row.recovery_id for failure in stale for row in failure.recoveries}
        others = [row for row in recoveries if row.recovery_id not in taken]
        found = self._run.found("errors", lambda: of_errors(others, moved_to))
        self._run.do("partitions of requests", lambda: mark_other_partitions(stale, self._packets.named))
        self._run.do("topic ids", lambda: mark_recreated(found, self._leadership_of, self._packets.deletions))
        self._run.do("topics of other clusters", lambda: mark_elsewhere(found, self._packets.clusters_of_topics))
        self._run.do("short timeouts", lambda: mark_short_timeouts(found, self._packets.latencies))
        return [*stale, *found]

    def _failures_of_brokers(self) -> list[Failure]:
        """Returns the failures of brokers and paths, brokers that lost their ZooKeeper sessions, and restarts."""
        rows, run = self._rows, self._run
        failures = join_listeners(broker_failures(rows.states), rows.clients.values())
        failures = with_links(with_cut_hosts(failures, rows.states), rows.states, self._packets.latencies)
        run.do("listeners of clients", lambda: name_by_client_listeners(failures, rows.states))
        lost = run.found(
            "ZooKeeper sessions",
            lambda: of_lost_sessions(give_sessions(failures, ended_sessions(rows.sessions, rows.states))),
        )
        of_clients: dict[str, set[Listener]] = defaultdict(set)
        for row in rows.states:
            if row.host_kind == "client":
                of_clients[row.server_ip].add(Listener(row.server_port, row.node_id))
        run.do("controllers", lambda: give_controllers(failures, self._packets.roles, of_clients))
        run.do("cut controllers", lambda: join_cut_controllers(failures, self._packets.roles, rows.states))
        restarted = run.found("restarts", lambda: self._restarts(failures))
        return sorted(without_warm_ups([*failures, *lost, *restarted]), key=lambda f: (f.start_ns, f.subject))

    def _restarts(self, failures: list[Failure]) -> Iterator[Failure]:
        """Yields the restarts that no failure of a broker shows. Also moves the start of failures that were controlled
        shutdowns."""
        processes = self._packets.processes()
        mark_controlled_shutdowns(failures, self._rows.recoveries, processes.heartbeats)
        return restarted_brokers(processes.restarts, failures, self._rows.states)


def _without(stalls: Iterable[Stall], failures: Iterable[Failure]) -> list[Stall]:
    """Returns the stalls that belong to none of the failures."""
    explained = {stall.stall_id for failure in failures for stall in failure.stalls}
    return [stall for stall in stalls if stall.stall_id not in explained]


def may_be_by_choice(stall: Stall) -> bool:
    """Whether an unexplained stall may be no stall at all: a consumer without a group chooses what it reads, and may
    have paused a partition (as the restore consumer of Kafka Streams does); and the controller may need long for an
    admin request."""
    return (stall.kind == "consume" and stall.group_id is None) or stall.kind == "admin"
