"""To which failure a recovery, a rebalance, a start that did not become ready or a transaction that was not committed
belongs: each belongs to one at most.

Recoveries belong to the failure that they were given to, and rebalances to the one that they explain. Of the rest, the
failure is one of the same time that a client, a group or a transactional id of it has met: it stood still because of
the failure, or had to recover from it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.incidents.failure import SECOND, Failure
from kafkascope_spark.incidents.failure_index import Failures
from kafkascope_spark.incidents.incident_rows import clients_of, end_ns, incident_id

Row = dict[str, Any]

NEAR_NS = SECOND
"""Longest time after the end of a failure in which a consequence may begin: a member joins again once it is served."""
_OF_MEMBERS = frozenset({"membership", "commit"})
"""Kinds of stalls in which a group had no coordinator, or a member no place in it."""
_OF_COORDINATORS = frozenset({"group", "transaction", "coordinator"})
"""Kinds of what recoveries are about that groups and transactional ids have."""


@dataclass(frozen=True, slots=True)
class _Met:
    """Whom a failure concerned. names: groups and transactional ids; subjects: what a start may have failed at, that is
    addresses of brokers and what recoveries are about."""

    clients: frozenset[str]
    names: frozenset[str]
    subjects: frozenset[str]
    start_ns: int
    end_ns: int

    def overlap_ns(self, from_ns: int, to_ns: int | None) -> int:
        """How long a stretch of time has in common with it; below 0 where it has nothing."""
        return min(self.end_ns, FOREVER if to_ns is None else to_ns) - max(self.start_ns, from_ns)


class Consequences:
    """failures: all of a capture, with the stalls and recoveries that belong to them; clients: client_instance_id ->
    row of affected_client."""

    def __init__(self, failures: Sequence[Failure], clients: Mapping[str, Row]) -> None:
        self._clients = clients
        self._known = Failures(failures)
        self._met = {failure: _met(failure) for failure in failures}
        self._of_recovery = {r["recovery_id"]: f for f in failures for r in f.recoveries}
        self._of_rebalance = {r["rebalance_id"]: f for f in failures for r in f.rebalances}

    def with_incidents(
        self, recoveries: Iterable[Row], rebalances: Iterable[Row], starts: Iterable[Row], transactions: Iterable[Row]
    ) -> Iterator[tuple[str, Row]]:
        """The rows with their `incident_id`, each with the name of its table. recoveries: rows of that table, with the
        client's address; the others: rows of rebalances, startups and transactions."""
        for row in recoveries:
            known = {name: value for name, value in row.items() if name != "client_ip"}
            yield "recoveries", known | _named(self._of_recovery.get(row["recovery_id"]))
        for row in rebalances:
            yield "rebalances", row | _named(self._of_rebalance.get(row["rebalance_id"]) or self._rebalance(row))
        for row in starts:
            yield "startups", row | _named(self._start(row))
        for row in transactions:
            yield "transactions", row | _named(self._transaction(row))

    def _rebalance(self, row: Row) -> Failure | None:
        """The failure in which the group had no coordinator, or in which members that it lost had failed. The first
        members of a group follow from nothing."""
        if row["start_ns"] is None or row["trigger"] == "first":
            return None
        lost = {d["client_instance_id"] for d in row["departed"] or () if d["how"] not in ("left", None)}

        def concerns(met: _Met) -> bool:
            return row["group_id"] in met.names or not lost.isdisjoint(met.clients)

        return self._longest(row["start_ns"], row["end_ns"], concerns)

    def _start(self, row: Row) -> Failure | None:
        """The failure of what the start failed at, else the first that the client met since. The start ended when the
        client gave up, which its row does not say."""
        client, since_ns = row["client_instance_id"], row["start_ns"]
        client_ip = self._clients.get(client, {}).get("client_ip")
        found = []
        for failure in self._known.at(since_ns, None, client):
            met = self._met[failure]
            is_its = row["failed_subject"] in met.subjects and failure.reaches(client_ip)
            if (is_its or client in met.clients) and met.end_ns >= since_ns - NEAR_NS:
                found.append((not is_its, max(met.start_ns, since_ns), incident_id(failure), failure))
        return min(found, key=lambda each: each[:3])[3] if found else None

    def _transaction(self, row: Row) -> Failure | None:
        """The failure that its transactional id met while it was open, or else its client."""
        begin_ns = row["begin_ns"] or row["end_ns"]
        if begin_ns is None:
            return None
        of_id = self._longest(begin_ns, row["end_ns"], lambda met: row["transactional_id"] in met.names)
        client = row["client_instance_id"]
        return of_id or self._longest(begin_ns, row["end_ns"], lambda met: client in met.clients)

    def _longest(self, from_ns: int, to_ns: int | None, concerns: Callable[[_Met], bool]) -> Failure | None:
        """Of the failures that concern it, the one with the longest time in common; the earlier one of two."""
        near = ((failure, self._met[failure]) for failure in self._known.at(from_ns, to_ns))
        found = [(met.overlap_ns(from_ns, to_ns), -met.start_ns, failure) for failure, met in near if concerns(met)]
        best = max((each for each in found if each[0] >= -NEAR_NS), key=lambda each: each[:2], default=None)
        return best[2] if best is not None else None


def _met(failure: Failure) -> _Met:
    names = {s["group_id"] for s in failure.stalls if s["kind"] in _OF_MEMBERS}
    names |= {s["transactional_id"] for s in failure.stalls}
    names |= {r["resource"] for r in failure.recoveries if r["resource_kind"] in _OF_COORDINATORS}
    of_misuse = failure.misuse.servers if failure.misuse is not None else ()
    until = end_ns(failure)
    return _Met(
        clients=frozenset(clients_of(failure)),
        names=frozenset(names - {None}),
        subjects=failure.servers | failure.resources | frozenset(of_misuse),
        start_ns=failure.start_ns,
        end_ns=FOREVER if until is None else until,
    )


def _named(failure: Failure | None) -> Row:
    return {"incident_id": None if failure is None else incident_id(failure)}
