"""The steps of a failure's course, each with the packet that shows it. Without a packet there is no step."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.topology_facts import Fact
from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.incidents.course.losses import (
    COORDINATED,
    begin_ns,
    lost_coordinators,
    lost_leaders,
    until_ns,
)
from kafkascope_spark.stories.incidents.course.sightings import Packets, RequestPackets, Sighting
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.incidents.packets.replicas import IsrChange, Replicas
from kafkascope_spark.stories.incidents.table import STEPS, CourseStep, StepName
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

NamedClient = tuple[str | None, str | None]
"""Client id and address of a client."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """An event that a packet shows. who: the client that it concerns."""

    ts_ns: int
    what: str = ""
    who: NamedClient = (None, None)
    packet_no: int | None = None


@dataclass(slots=True)
class _Takeover:
    """New leaders and coordinators after a failure, and changes of replicas, as packets show them.

    leaders: for each lost leader the sightings of its successor, in order of time; the first one shows the move.
    coordinators: new coordinators by group or transactional id, each since it was reported. dropped: nodes that leaders
    removed from their in-sync replicas; back: these nodes, or the failed broker, in sync again, in order of time.
    """

    leaders: list[list[Sighting]]
    coordinators: dict[str, Fact]
    dropped: list[tuple[IsrChange, int]] = field(default_factory=list)
    back: list[tuple[IsrChange, int]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether packets show no successor and no dropped replica."""
        return not (self.leaders or self.coordinators or self.dropped)


def give_courses(failures: Iterable[Failure], leadership: Callable[[], Leadership], packets: Packets) -> None:
    """Sets the course of each failure of a broker, and of each move. leadership: returns the leadership of the cluster;
    called only if it is needed; packets: of the dataset."""
    asked = [failure for failure in failures if has_course(failure)]
    if not asked:
        return
    known = leadership()
    replicas = packets.replicas(known.topics)
    lost = {failure: lost_leaders(failure, known) for failure in asked}
    seen = packets.sightings([loss for losses in lost.values() for loss in losses])
    following = _next_starts(asked)
    takeovers = {}
    for failure, losses in lost.items():
        leaders = [_after(seen.get(loss, ())) for loss in losses]
        takeover = _Takeover([each for each in leaders if each], _successors(failure, known))
        if failure.states:
            _add_replicas(takeover, failure, replicas, following[failure])
        takeovers[failure] = takeover
    requests = packets.requests({i for failure in asked for i in _proofs(failure, takeovers[failure])})
    for failure, takeover in takeovers.items():
        course = _Course(failure, takeover, requests)
        rows = [CourseStep(step, moment.ts_ns, moment.packet_no, moment.what) for step, moment in course.moments()]
        failure.course = tuple(sorted(rows, key=lambda row: (row.ts_ns, STEPS.index(row.step))))
        _give_moves(failure, known)


def _give_moves(failure: Failure, leadership: Leadership) -> None:
    """Sets when the leader moved. One that moves again and again has no single course."""
    if not failure.kind.is_move:
        return
    names = sorted({row.resource for row in failure.recoveries if row.resource_kind == "partition"})
    times = (leadership.moves_ns(name, begin_ns(failure), until_ns(failure)) for name in names)
    failure.topic.moves_ns = max(times, key=len, default=())
    if failure.is_flapping:
        failure.course = ()
        failure.fault = Fault(start_ns=failure.topic.moves_ns[0], end_after_ns=failure.topic.moves_ns[-1])


def has_course(failure: Failure) -> bool:
    """Whether another node takes over after such a failure, or leaders go on without a replica."""
    cuts_all = failure.is_of_broker or failure.kind.between_brokers
    return failure.kind.is_move or (failure.kind.cuts_clients and cuts_all)


def _next_starts(failures: Iterable[Failure]) -> dict[Failure, int]:
    """Returns when the next broker failed after each failure; FOREVER if none did."""
    starts = [*sorted(failure.start_ns for failure in failures if failure.states), FOREVER]
    return {failure: starts[bisect_right(starts, failure.start_ns)] for failure in failures}


def _add_replicas(takeover: _Takeover, failure: Failure, replicas: Replicas, next_ns: int) -> None:
    """Adds the changes of replicas. next_ns: when the next broker failed; later changes follow from that failure."""
    takeover.dropped = list(replicas.without(_nodes_of(failure), begin_ns(failure), min(until_ns(failure), next_ns)))
    if takeover.is_empty:
        return
    back = {}
    for change, node_id in takeover.dropped:
        back[change.name, node_id] = replicas.back_in(change.name, node_id, change.ts_ns, next_ns)
    if failure.is_of_broker and failure.node_id is not None:
        over_ns = fault_of(failure).end_after_ns or begin_ns(failure)
        back |= {(each.name, failure.node_id): each for each in replicas.back(failure.node_id, over_ns, next_ns)}
    found = [(each, node_id) for (_, node_id), each in back.items() if each is not None]
    takeover.back = sorted(found, key=lambda each: (each[0].ts_ns, each[0].name))


def _nodes_of(failure: Failure) -> set[int]:
    """Returns the failed broker; if brokers did not reach each other, both."""
    nodes = {state.server_ip: state.node_id for state in failure.states if state.node_id is not None}
    others = {nodes[host] for host in failure.hosts if host in nodes}
    return others | ({failure.node_id} if failure.node_id is not None else set())


def _proofs(failure: Failure, takeover: _Takeover) -> Iterator[str]:
    """Yields the ids of the requests whose packets the steps may name."""
    for stall in failure.stalls:
        yield from stall.evidence[-1:]
    for recovery in failure.recoveries:
        yield from recovery.evidence
    yield from (fact.request_id for fact in takeover.coordinators.values() if fact.request_id is not None)
    yield from (change.request_id for change, _ in takeover.dropped)
    yield from (change.request_id for change, _ in takeover.back[-1:])


def _after(sightings: Sequence[Sighting]) -> list[Sighting]:
    """Returns the sightings of the first successor of a leader, from the first packet that shows it as leader."""
    first = next((each for each in sightings if each.how != "served"), None)
    if first is None:
        return []
    return [each for each in sightings if each.ts_ns >= first.ts_ns and each.node_id == first.node_id]


class _Course:
    """Derives the steps of one failure. requests: by id, the requests that prove stalls, recoveries and the
    takeover."""

    def __init__(self, failure: Failure, takeover: _Takeover, requests: Mapping[str, RequestPackets]) -> None:
        self._failure = failure
        self._takeover = takeover
        self._requests = requests

    def moments(self) -> Iterator[tuple[StepName, _Moment]]:
        """Yields each step with the event that shows it; none for a move if no packet shows the new leader or
        coordinator."""
        if self._takeover.is_empty and not self._failure.states:
            return
        first_of: tuple[tuple[StepName, Iterable[_Moment]], ...] = (
            ("failed", self._failed()),
            ("detected", self._detected()),
            ("failed_over", self._taken_over()),
        )
        for step, moments in first_of:
            yield from ((step, moment) for moment in sorted(moments, key=lambda each: each.ts_ns)[:1])
        yield from (("learned", moment) for moment in _first_and_last(self._learned(), "learned of it"))
        yield from (("served", moment) for moment in _first_and_last(self._served(), "was served"))
        yield from (("caught_up", moment) for moment in self._caught_up())

    def _failed(self) -> Iterator[_Moment]:
        """Yields the begin of the failure, by the states of the broker, and the first refusal of a controlled
        shutdown."""
        fault, begin_ns = fault_of(self._failure), self._failure.start_ns
        for state in self._failure.states:
            if state.shown_from_ns == fault.start_ns:
                yield _Moment(state.shown_from_ns, self._failure.subject, packet_no=state.shown_packet_no)
        if self._failure.closed_ns is not None:
            for row in self._failure.recoveries:
                if row.start_ns == begin_ns:
                    yield _Moment(begin_ns, self._failure.subject, packet_no=self._packet(row.evidence[:1], begin_ns))

    def _detected(self) -> Iterator[_Moment]:
        for first, *_ in self._takeover.leaders:
            epoch = "" if first.epoch is None or first.epoch < 0 else f" with leader epoch {first.epoch}"
            if first.how == "followed":
                what = f"node {first.request.replica_id} follows node {first.node_id} for {first.loss.name}{epoch}"
            else:
                what = f"node {first.node_id} is named as the leader of {first.loss.name}{epoch}"
            yield _Moment(first.ts_ns, what, packet_no=first.packet_no)
        for name, fact in self._takeover.coordinators.items():
            packet_no = self._packet([fact.request_id] if fact.request_id is not None else [], fact.since_ns)
            what = f"node {fact.node_id} is named as the coordinator of {name}"
            yield _Moment(fact.since_ns, what, packet_no=packet_no)
        for change, node_id in self._takeover.dropped:
            what = f"node {node_id} is no longer among the in-sync replicas of {change.name}"
            yield _Moment(change.ts_ns, what, packet_no=self._packet([change.request_id], change.ts_ns))

    def _caught_up(self) -> Iterator[_Moment]:
        """Yields when the last replica was in sync again."""
        back = self._takeover.back
        for change, node_id in back[-1:]:
            n_partitions = counted(len({each.name for each, _ in back}), "topic-partition")
            what = f"node {node_id} is in sync again for {change.name}, the last of {n_partitions}"
            yield _Moment(change.ts_ns, what, packet_no=self._packet([change.request_id], change.ts_ns))

    def _taken_over(self) -> Iterator[_Moment]:
        for of_leader in self._takeover.leaders:
            first = next((each for each in of_leader if each.how == "served"), None)
            if first is not None:
                who = client(first.request.client_id, first.request.client_ip)
                what = f"node {first.node_id} serves {who}: {first.loss.name}"
                yield _Moment(first.ts_ns, what, packet_no=first.packet_no)
        for row, fact in self._of_coordinators():
            if row.recovered_ns is not None and row.new_node_id == fact.node_id:
                what = f"node {fact.node_id} serves {client(row.client_id, row.client_ip)}: {row.resource}"
                yield _Moment(row.recovered_ns, what, packet_no=self._packet(row.evidence[-1:], row.recovered_ns))

    def _of_coordinators(self) -> Iterator[tuple[ClientRecovery, Fact]]:
        """Yields the recoveries that had to find another coordinator, each with the new coordinator."""
        for row in self._failure.recoveries:
            fact = self._takeover.coordinators.get(row.resource) if row.resource_kind in COORDINATED else None
            if fact is not None:
                yield row, fact

    def _learned(self) -> Iterator[_Moment]:
        """Yields when clients that stalled or had to recover learned of a new leader or coordinator from a response."""
        affected = {(stall.client_id, stall.client_ip) for stall in self._failure.stalls}
        affected |= {(recovery.client_id, recovery.client_ip) for recovery in self._failure.recoveries}
        for of_leader in self._takeover.leaders:
            for each in of_leader:
                who = each.request.client_id, each.request.client_ip
                if each.how == "named" and each.request.is_of_client and (who in affected or not affected):
                    yield _Moment(each.ts_ns, who=who, packet_no=each.packet_no)
        for row, fact in self._of_coordinators():
            if row.rediscovered_ns is not None and row.rediscovered_ns >= fact.since_ns:
                packet_no = self._packet(row.evidence, row.rediscovered_ns)
                yield _Moment(row.rediscovered_ns, who=(row.client_id, row.client_ip), packet_no=packet_no)

    def _served(self) -> Iterator[_Moment]:
        """Yields when each client that stalled or had to recover was last served again."""
        last: dict[NamedClient, _Moment] = {}
        for moment in self._served_again():
            if moment.who not in last or last[moment.who].ts_ns < moment.ts_ns:
                last[moment.who] = moment
        yield from last.values()

    def _served_again(self) -> Iterator[_Moment]:
        for stall in self._failure.stalls:
            if stall.served and stall.to_ns is not None:
                packet_no = self._packet(stall.evidence[-1:], stall.to_ns)
                yield _Moment(stall.to_ns, who=(stall.client_id, stall.client_ip), packet_no=packet_no)
        for row in self._failure.recoveries:
            if row.recovered_ns is not None and row.outcome == "recovered" and self._is_for_service(row):
                packet_no = self._packet(row.evidence[-1:], row.recovered_ns)
                yield _Moment(row.recovered_ns, who=(row.client_id, row.client_ip), packet_no=packet_no)

    def _is_for_service(self, recovery: ClientRecovery) -> bool:
        """Whether a recovery is of a client (not of a replica), from an error during the failure, for a resource that a
        leader or coordinator serves."""
        over_ns = fault_of(self._failure).end_after_ns
        until_ns = self._failure.end_ns if over_ns is None else over_ns
        is_service = recovery.resource_kind == "partition" or recovery.resource_kind in COORDINATED
        in_time = until_ns is None or recovery.failing_since_ns <= until_ns
        proofs = (request for i in recovery.evidence if (request := self._requests.get(i)) is not None)
        return is_service and in_time and all(request.is_of_client for request in proofs)

    def _packet(self, request_ids: Iterable[str], ts_ns: int) -> int | None:
        """Returns the packet with the first byte of the response to one of the requests whose first or last byte came
        at ts_ns; None if there is none."""
        known = (request for i in request_ids if (request := self._requests.get(i)) is not None)
        answers = (each for each in known if ts_ns in (each.response_ns, each.response_last_ns))
        return next((each.response_packet_no for each in answers), None)


def _successors(failure: Failure, leadership: Leadership) -> dict[str, Fact]:
    """Returns the first coordinator that was reported after the failed one, by group or transactional id."""
    found = {}
    for loss in lost_coordinators(failure, leadership):
        fact = leadership.successor(loss.name, loss.node_id, loss.from_ns, loss.until_ns)
        if fact is not None:
            found[loss.name] = fact
    return found


def _first_and_last(moments: Iterable[_Moment], what: str) -> Iterator[_Moment]:
    """Yields the moments of the first and of the last client; only one for a single client."""
    first_of: dict[NamedClient, _Moment] = {}
    for moment in sorted(moments, key=lambda each: each.ts_ns):
        first_of.setdefault(moment.who, moment)
    listed, n_clients = list(first_of.values()), counted(len(first_of), "client")
    if len(listed) == 1:
        yield replace(listed[0], what=f"{client(*listed[0].who)} {what}, the only client")
    elif listed:
        yield replace(listed[0], what=f"{client(*listed[0].who)} {what}, the first of {n_clients}")
        yield replace(listed[-1], what=f"{client(*listed[-1].who)} {what}, the last of {n_clients}")
