"""`Candidates`: the failures to which a stall may belong, with the lookups that the rules of attribution.py need.

Failures are looked up by key (failure_index.py). So are the rows that already belong to failures: recoveries by client
and resource, states after which TCP retransmits by node and host, stalls of group members by group.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, product

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.clients.client_failures import groups_of, pauses_of
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key, KeyedStretches, is_of_time
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.stalls.table import Stall

LEAST_OVERLAP_NS = SECOND // 2
"""Shortest overlap of a stall with its failure; half of the stall suffices if that is less."""
OF_NAMED_NODES, OF_UNKNOWN_NODES = ("replica", True), ("replica", False)
"""Keys of failures that affect all clients that wait for replication: brokers with known node ids and failed paths
between brokers; and brokers without known node ids."""
_UNACKNOWLEDGED_STATES = frozenset({"silent", "lossy", "mtu", "flow_dead", "host_silent"})
"""States in which nothing acknowledges sent data, so that TCP doubles the time before each retransmission."""
_OF_PLACES = ("commit", "membership")
"""Kinds of stalls in which members wait for their coordinator."""


class KnownFailures:
    """Index of all failures to which stalls may belong, with their recoveries and the stalls that they already have.
    Stalls must be looked up in order of time."""

    def __init__(self, failures: Iterable[Failure]) -> None:
        listed = list(failures)
        self.by_key = Failures(listed, _keys, times=pauses_of)
        self._recoveries: KeyedStretches[tuple[int, Failure]] = KeyedStretches()
        self._sent_again: KeyedStretches[Failure] = KeyedStretches()
        self._own: KeyedStretches[Failure] = KeyedStretches()
        self._waiting: dict[str, dict[Failure, list[tuple[int, str, int]]]] = defaultdict(dict)
        for failure in listed:
            self._add_recoveries(failure)
            self._add_states(failure)
            for stall in failure.stalls:
                self.add_stall(stall, failure)
                if stall.client_instance_id is not None and stall.node_id is not None:
                    self._own.add(
                        ("own", (stall.client_instance_id, stall.node_id)), stall.from_ns, stall.to_ns, failure
                    )
        over = [f for f in listed if f.is_of_broker and f.end_ns is not None]
        over.sort(key=lambda failure: failure.start_ns)
        self._over_starts = [failure.start_ns for failure in over]
        self._last_over = list(accumulate(over, _later_over))
        """For each ended failure of a broker, by start: of it and all earlier ones the failure that ended last."""

    def _add_recoveries(self, failure: Failure) -> None:
        for (client, resource), rows in failure.recoveries_of.items():
            keys: list[Key] = [("resource", (client, resource))]
            if resource == failure.server:
                keys.append(("node", (client, failure.node_id)))
            for row in rows:
                if row.outcome != "served_elsewhere":
                    until = None if row.recovered_ns is None else row.recovered_ns - 1
                    for key in keys:
                        self._recoveries.add(key, row.start_ns, until, (row.start_ns, failure))

    def _add_states(self, failure: Failure) -> None:
        for state in failure.states:
            if state.state in _UNACKNOWLEDGED_STATES and None not in (state.to_ns, state.node_id):
                until = 2 * state.until_ns - state.from_ns
                self._sent_again.add(("state", (state.node_id, state.host)), state.from_ns, until, failure)

    def add_stall(self, stall: Stall, failure: Failure) -> None:
        """Adds a stall that belongs to a failure."""
        if stall.kind in _OF_PLACES and stall.group_id is not None:
            until = FOREVER if stall.to_ns is None else stall.to_ns
            of_failure = self._waiting[stall.group_id].setdefault(failure, [])
            heappush(of_failure, (stall.from_ns, stall.stall_id, until))

    def recovering(self, key: Key, at_ns: int) -> Iterator[tuple[int, Failure]]:
        """Yields the begins and failures of recoveries that were not over at at_ns, the last first. key: the client
        with the resource, or with the node that gets its requests."""
        return self._recoveries.of(key).latest(at_ns, at_ns + LEAST_OVERLAP_NS)

    def sent_again(self, stall: Stall) -> Iterator[Failure]:
        """Yields the failures of the broker of the stall after which TCP may have waited with a retransmission during
        the whole stall."""
        if stall.to_ns is None:
            return iter(())
        states = self._sent_again.of(("state", (stall.node_id, stall.client_ip)))
        return states.latest(stall.to_ns, stall.from_ns)

    def own_stalls(self, stall: Stall) -> tuple[int, Failure] | None:
        """Returns the failure of another stall of the same client at the same broker, and the length of its overlap
        with this stall; of several the one with the longest overlap. Only stalls that the failures had at first
        count."""
        if stall.client_instance_id is None or stall.node_id is None:
            return None
        of_client = self._own.of(("own", (stall.client_instance_id, stall.node_id)))
        return of_client.longest(stall.from_ns, FOREVER if stall.to_ns is None else stall.to_ns)

    def over_last(self, at_ns: int) -> Failure | None:
        """Returns the ended failure of a broker that began by at_ns; of several, the one that ended last."""
        n_begun = bisect_right(self._over_starts, at_ns)
        return self._last_over[n_begun - 1] if n_begun else None

    def still_waited_for(self, at_ns: int) -> Failure | None:
        """Returns the failure of a broker that ended last, if it ended shortly before at_ns and some of its stalls
        lasted longer than that; else None."""
        last = self.over_last(at_ns)
        if last is None or last.end_ns is None or at_ns > last.end_ns + FOLLOWS_NS:
            return None
        return last if any(stall.to_ns is None or stall.to_ns > at_ns for stall in last.stalls) else None

    def waiting(self, group_id: str, at_ns: int) -> Iterator[tuple[int, str, Failure]]:
        """Yields, for each failure because of which members of the group waited at at_ns, the begin and stall_id of the
        earliest stall, and the failure. Stalls that are over by then are removed."""
        of_group = self._waiting.get(group_id, {})
        for failure, stalls in list(of_group.items()):
            while stalls and stalls[0][2] <= at_ns:
                heappop(stalls)
            if not stalls:
                del of_group[failure]
            elif stalls[0][0] <= at_ns:
                yield stalls[0][0], stalls[0][1], failure


def _later_over(one: Failure, other: Failure) -> Failure:
    return other if (other.end_ns or 0) > (one.end_ns or 0) else one


def _keys(failure: Failure) -> Iterator[Key]:
    """Yields the keys under which rules look up a failure."""
    if failure.node_id is not None and not (failure.kind.between_brokers or failure.kind.serves_on):
        yield "node", failure.node_id
    if failure.kind.between_brokers or failure.kind.holds_replicas:
        yield OF_NAMED_NODES
    elif failure.is_of_broker:
        yield OF_UNKNOWN_NODES if failure.node_id is None else OF_NAMED_NODES
    if failure.node_id is None and (failure.is_of_broker or failure.kind.of_path):
        yield from (("unnamed", host) for host in {row.host for row in failure.states})
    if failure.kind.of_path:
        yield from (("path", host) for host in failure.hosts)
    if failure.kind.of_listener:
        yield from (("listener", client) for client in failure.client_instance_ids)
    if failure.misuse is not None and failure.kind.place == "listener":
        yield from (("listener", client) for client in failure.misuse.client_instance_ids)
    if failure.kind.of_host:
        yield from (("host", host) for host in failure.hosts)
    yield from (("kept_out", host) for host in failure.kept_out)
    if failure.kind.holds_back:
        yield from (("quota", client) for client in failure.client_instance_ids)
    if failure.kind.of_clients:
        yield from (("client", client) for client in failure.client_instance_ids)
        yield from (("group", group) for group in groups_of(failure))
    if failure.error_names:
        yield from (("error", pair) for pair in product(failure.client_instance_ids, failure.error_names))
    if failure.error_names and not failure.kind.own_clients:
        about = "member" if failure.kind.of_members else "resource"
        yield from ((about, resource) for resource in failure.resources)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The failures to which one stall may belong: only those that began by begun_by_ns."""

    known: KnownFailures
    stall: Stall
    begun_by_ns: int

    def longest(
        self, keys: Iterable[Key], is_able: Callable[[Failure], bool] = lambda _: True
    ) -> tuple[int, Failure] | None:
        """Returns the failure of one of the keys with the longest overlap with the stall, and the length of the
        overlap; of two, the earlier one. None if the overlap is too short."""
        stall = self.stall
        found = self.known.by_key.longest(keys, stall.from_ns, stall.to_ns, is_able, self.begun_by_ns)
        least = min(LEAST_OVERLAP_NS, stall.waited_ms * 500_000)
        return found if found is not None and found[0] >= least else None

    def has(self, failure: Failure) -> bool:
        """Whether a failure is a candidate: it is near in time, or the client had a recovery from it."""
        if failure.start_ns > self.begun_by_ns:
            return False
        is_met = self.stall.client_instance_id in failure.client_instance_ids
        return is_met or is_of_time(failure, self.stall.from_ns, self.stall.to_ns)

    def before(self, key: Key, lasted_ns: int) -> Iterator[Failure]:
        """Yields the failures of a key that had begun when the stall began and lasted lasted_ns after that at least;
        the last first."""
        since = self.stall.from_ns
        return self.known.by_key.latest(key, since + lasted_ns, min(since, self.begun_by_ns))

    def just_over(self, key: Key) -> list[Failure]:
        """Returns the failures of a key that ended when the stall began or up to FOLLOWS_NS before; the earliest
        first."""
        since = self.stall.from_ns
        met = self.known.by_key.latest(key, since - FOLLOWS_NS, since)
        return self.known.by_key.in_order(f for f in met if any(_is_over(end_ns, since) for end_ns in _ends(f)))

    def recovering(self, key: Key) -> tuple[int, Failure] | None:
        """Returns the begin and the failure of the last recovery of a key that was not over when the stall began; None
        if there is none."""
        met = self.known.recovering(key, self.stall.from_ns)
        return next((each for each in met if each[1].start_ns <= self.begun_by_ns), None)


def _ends(failure: Failure) -> list[int | None]:
    return [end_ns for _, end_ns in pauses_of(failure)] or [failure.end_ns]


def _is_over(end_ns: int | None, at_ns: int) -> bool:
    """Whether end_ns is at at_ns or up to FOLLOWS_NS before."""
    return end_ns is not None and at_ns - FOLLOWS_NS <= end_ns <= at_ns
