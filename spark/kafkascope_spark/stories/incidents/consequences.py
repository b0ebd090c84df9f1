"""To which failure a recovery, a rebalance, a start that did not become ready or a transaction that was not committed
belongs: each belongs to one at most.

Recoveries belong to the failure that they were given to, and rebalances to the one that they explain. Of the rest, the
failure is one of the same time that a client, a group or a transactional id of it has met: it stalled because of
the failure, or had to recover from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, takewhile

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failure_index import Failures, Key, is_of_time
from kafkascope_spark.stories.incidents.incident_rows import clients_of, end_ns
from kafkascope_spark.stories.recoveries.table import Recovery
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

NEAR_NS = SECOND
"""Longest time after the end of a failure in which a consequence may begin: a member joins again once it is served. The
index allows as much."""
_OF_MEMBERS = frozenset({"membership", "commit"})
"""Kinds of stalls in which a group had no coordinator, or a member no place in it."""
_OF_COORDINATORS = frozenset({"group", "transaction", "coordinator"})
"""Kinds of what recoveries are about that groups and transactional ids have."""


@dataclass(frozen=True, slots=True)
class _Met:
    """Whom a failure concerned. names: groups and transactional ids; subjects: what a start may have failed at, that is
    addresses of brokers and what recoveries are about. end_ns: FOREVER where the capture does not show it."""

    clients: frozenset[str]
    names: frozenset[str]
    subjects: frozenset[str]
    end_ns: int

    def keys(self) -> Iterator[Key]:
        """The same as keys of an index."""
        yield from (("client", client) for client in self.clients)
        yield from (("name", name) for name in self.names)
        yield from (("subject", subject) for subject in self.subjects)


class Consequences:
    """ids: incident_id of each failure of a capture, which have the stalls and recoveries that belong to them; clients:
    by client_instance_id."""

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
        """The rows with their `incident_id`."""
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
        """The failure in which the group had no coordinator, or in which members that it lost had failed. The first
        members of a group follow from nothing."""
        if row.start_ns is None or row.trigger == "first":
            return None
        lost = {member.client_instance_id for member in row.lost}
        keys: list[Key] = [("name", row.group_id), *(("client", client) for client in lost)]
        return self._longest(keys, row.start_ns, row.end_ns)

    def _start(self, start: StartupRow) -> Failure | None:
        """The failure of what the start failed at, else the first that the client met since. The start ended when the
        client gave up, which its row does not say."""
        client, since_ns = start.client_instance_id, start.start_ns
        known = self._clients.get(client)
        client_ip = None if known is None else known.client_ip
        at_it = (f for f in self._since(("subject", start.failed_subject), start) if f.reaches(client_ip))
        return self._first(at_it, since_ns) or self._first(self._since(("client", client), start), since_ns)

    def _since(self, key: Key, start: StartupRow) -> Iterator[Failure]:
        """The failures that concern this, from which a start may follow: those first that had begun before it, then in
        order of time."""
        client, since_ns = start.client_instance_id, start.start_ns
        begun = self._known.latest(key, since_ns - NEAR_NS, since_ns)
        later = (failure for _, failure in self._known.after(key, since_ns))
        for failure in chain(begun, later):
            if client in failure.client_instance_ids or is_of_time(failure, since_ns, None):
                yield failure

    def _first(self, failures: Iterator[Failure], since_ns: int) -> Failure | None:
        """The first that a client met since: those that had begun by then are equally early. failures: of _since."""
        first = next(failures, None)
        if first is None:
            return None
        until_ns = max(first.start_ns, since_ns)
        return min((first, *takewhile(lambda f: f.start_ns <= until_ns, failures)), key=self._ids.__getitem__)

    def _transaction(self, row: TransactionRow) -> Failure | None:
        """The failure that its transactional id met while it was open, or else its client."""
        begin_ns = row.begin_ns or row.end_ns
        if begin_ns is None:
            return None
        of_id = self._longest([("name", row.transactional_id)], begin_ns, row.end_ns)
        return of_id or self._longest([("client", row.client_instance_id)], begin_ns, row.end_ns)

    def _longest(self, keys: Iterable[Key], from_ns: int, to_ns: int | None) -> Failure | None:
        """The failure that concerns one of the keys and has the longest time in common; the earlier one of two."""
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
