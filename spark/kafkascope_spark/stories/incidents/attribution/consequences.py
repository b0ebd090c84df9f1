"""Attributes recoveries, rebalances, starts that did not become ready and transactions that were not committed to
failures, each to one at most.

Recoveries belong to the failure to which they were attributed before, and rebalances to the one that they explain. The
rest belongs to a failure of the same time that affected the same client, group or transactional id: it stalled because
of the failure, or had to recover from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, takewhile

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key, is_of_time
from kafkascope_spark.stories.incidents.rows.incident_rows import clients_of, end_ns
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.recoveries.table import Recovery
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

NEAR_NS = SECOND
"""Longest time after the end of a failure in which a consequence may begin: a member joins again once it is served. The
index of failures uses the same tolerance."""
_OF_MEMBERS = frozenset({"membership", "commit"})
"""Kinds of stalls in which a group had no coordinator, or a member was not in its group."""
_OF_COORDINATORS = frozenset({"group", "transaction", "coordinator"})
"""Resource kinds of recoveries that belong to groups and transactional ids."""


@dataclass(frozen=True, slots=True)
class _Met:
    """Clients and resources that a failure affected. names: groups and transactional ids; subjects: what a start may
    have failed at, that is addresses of brokers and resources of recoveries. end_ns: FOREVER where the capture does not
    show it."""

    clients: frozenset[str]
    names: frozenset[str]
    subjects: frozenset[str]
    end_ns: int

    def keys(self) -> Iterator[Key]:
        """Yields the clients, names and subjects as keys of the index of failures."""
        yield from (("client", client) for client in self.clients)
        yield from (("name", name) for name in self.names)
        yield from (("subject", subject) for subject in self.subjects)


class Consequences:
    """Attributes rows to failures. ids: incident_id of each failure of a capture, to which stalls and recoveries have
    been attributed; clients: by client_instance_id."""

    def __init__(self, ids: Mapping[Failure, str], clients: Mapping[str, AffectedClient]) -> None:
        self._ids = ids
        self._clients = clients
        self._met = {failure: _met(failure) for failure in ids}
        self._known = Failures(ids, lambda f: self._met[f].keys(), lambda f: self._met[f].end_ns)
        self._of_recovery = {r.recovery_id: f for f in ids for r in f.recoveries}
        self._of_rebalance = {r.rebalance_id: f for f in ids for r in f.rebalances}

    def with_incidents(
        self,
        recoveries: Iterable[Recovery],
        rebalances: Iterable[RebalanceRow],
        starts: Iterable[StartupRow],
        transactions: Iterable[TransactionRow],
    ) -> Iterator[StoryRow]:
        """Yields the rows with `incident_id` set."""
        for recovery in recoveries:
            recovery.incident_id = self._id_of(self._of_recovery.get(recovery.recovery_id))
            yield recovery
        for rebalance in rebalances:
            failure = self._of_rebalance.get(rebalance.rebalance_id) or self._rebalance(rebalance)
            rebalance.incident_id = self._id_of(failure)
            yield rebalance
        for start in starts:
            start.incident_id = self._id_of(self._start(start))
            yield start
        for transaction in transactions:
            transaction.incident_id = self._id_of(self._transaction(transaction))
            yield transaction

    def _rebalance(self, row: RebalanceRow) -> Failure | None:
        """Returns the failure in which the group had no coordinator, or in which members that it lost had failed. None
        for the first rebalance of a group, which follows from nothing."""
        if row.start_ns is None or row.trigger == "first":
            return None
        lost = {member.client_instance_id for member in row.lost}
        keys: list[Key] = [("name", row.group_id), *(("client", client) for client in lost)]
        return self._longest(keys, row.start_ns, row.end_ns)

    def _start(self, start: StartupRow) -> Failure | None:
        """Returns the failure of the resource at which the start failed, else the first failure since then that
        affected the client. The end of the start is not limited: it ended when the client gave up, and its row does not
        hold that time."""
        client, since_ns = start.client_instance_id, start.start_ns
        known = self._clients.get(client)
        client_ip = None if known is None else known.client_ip
        at_it = (f for f in self._since(("subject", start.failed_subject), start) if f.reaches(client_ip))
        return self._first(at_it, since_ns) or self._first(self._since(("client", client), start), since_ns)

    def _since(self, key: Key, start: StartupRow) -> Iterator[Failure]:
        """Yields the failures of a key from which a start may follow: first those that had begun before it, then the
        later ones in order of time."""
        client, since_ns = start.client_instance_id, start.start_ns
        begun = self._known.latest(key, since_ns - NEAR_NS, since_ns)
        later = (failure for _, failure in self._known.after(key, since_ns))
        for failure in chain(begun, later):
            if client in failure.client_instance_ids or is_of_time(failure, since_ns, None):
                yield failure

    def _first(self, failures: Iterator[Failure], since_ns: int) -> Failure | None:
        """Returns the first failure since a time. All that had begun by then count as equally early; the smallest
        incident_id decides. failures: result of _since."""
        first = next(failures, None)
        if first is None:
            return None
        until_ns = max(first.start_ns, since_ns)
        return min((first, *takewhile(lambda f: f.start_ns <= until_ns, failures)), key=self._ids.__getitem__)

    def _transaction(self, row: TransactionRow) -> Failure | None:
        """Returns the failure that affected the transactional id while the transaction was open, else the one that
        affected its client."""
        begin_ns = row.begin_ns or row.end_ns
        if begin_ns is None:
            return None
        of_id = self._longest([("name", row.transactional_id)], begin_ns, row.end_ns)
        return of_id or self._longest([("client", row.client_instance_id)], begin_ns, row.end_ns)

    def _longest(self, keys: Iterable[Key], from_ns: int, to_ns: int | None) -> Failure | None:
        """Returns the failure of one of the keys that overlaps the time the longest; of two, the earlier one."""
        found = self._known.longest(keys, from_ns, to_ns, lambda failure: is_of_time(failure, from_ns, to_ns))
        return None if found is None else found[1]

    def _id_of(self, failure: Failure | None) -> str | None:
        return None if failure is None else self._ids[failure]


def _met(failure: Failure) -> _Met:
    names = {s.group_id for s in failure.stalls if s.kind in _OF_MEMBERS and s.group_id is not None}
    names |= {s.transactional_id for s in failure.stalls if s.transactional_id is not None}
    names |= {r.resource for r in failure.recoveries if r.resource_kind in _OF_COORDINATORS}
    of_misuse = failure.misuse.servers if failure.misuse is not None else ()
    until = end_ns(failure)
    return _Met(
        clients=frozenset(clients_of(failure)),
        names=frozenset(names),
        subjects=failure.servers | failure.resources | frozenset(of_misuse),
        end_ns=FOREVER if until is None else until,
    )
