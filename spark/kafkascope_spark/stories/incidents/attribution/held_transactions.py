"""Transactions that live producers kept open unusually long, and that held back consumers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.held_transaction import HELD_TRANSACTION, STILL_OPEN
from kafkascope_spark.stories.incidents.rows.incident_rows import clients_of
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow

LEAST_NS = 5 * SECOND
"""Shortest time that a consumer is held back in such an incident: applications often put some seconds of work into a
transaction."""


def held_transactions(
    transactions: Iterable[TransactionRow],
    clients: Mapping[str, AffectedClient],
    failures: Iterable[Failure],
    start_ns: int,
) -> Iterator[Failure]:
    """Yields one failure for each such transaction, in order of time. Transactions of producers that ended, or that
    another failure affected at that time, follow from that failure. clients: by client_instance_id; start_ns: start of
    the capture."""
    rows = [row for row in transactions if row.transactional_id is not None and row.held_back]
    usual, free_from = _Usual(rows), _Free(rows, start_ns)
    met = _affected(failures)
    for row in sorted(rows, key=lambda each: (each.held_back[0].from_ns, each.transactional_id or "")):
        if row.left_ns is not None or row.fenced_ns is not None:
            continue
        held = [reader for reader in row.held_back if _length(reader) >= LEAST_NS and free_from.served_before(reader)]
        if held and usual.is_exceeded(row) and not _is_met(met, row, held):
            yield _failure(row, held, clients.get(row.client_instance_id or ""))


def _failure(row: TransactionRow, held: list[BlockedConsumer], producer: AffectedClient | None) -> Failure:
    name = "a producer" if producer is None else client(producer.client_id, producer.client_ip)
    until_ns = max(reader.until_ns for reader in held)
    end_ns = None if row.outcome in STILL_OPEN else row.end_ns or until_ns
    failure = Failure(HELD_TRANSACTION, name, min(reader.from_ns for reader in held), end_ns)
    failure.left_open.append(row)
    failure.waited_ms = max(map(_length, held)) // 1_000_000
    failure.hosts = frozenset() if producer is None else frozenset({producer.client_ip})
    readers = {reader.client_instance_id for reader in held}
    failure.client_instance_ids |= {each for each in readers if each is not None}
    return failure


class _Usual:
    """Longest time for which each transaction of a transactional id held back a consumer."""

    def __init__(self, rows: Iterable[TransactionRow]) -> None:
        self._longest: dict[str | None, list[int]] = defaultdict(list)
        for row in rows:
            self._longest[row.transactional_id].append(max(map(_length, row.held_back)))

    def is_exceeded(self, row: TransactionRow) -> bool:
        """Whether no other transaction of the transactional id held back consumers for half as long or longer: a
        producer that commits once a minute works as intended."""
        own = max(map(_length, row.held_back))
        return sum(2 * each >= own for each in self._longest[row.transactional_id]) == 1


class _Free:
    """When no transaction held back a consumer at a topic-partition."""

    def __init__(self, rows: Iterable[TransactionRow], start_ns: int) -> None:
        self._start_ns = start_ns
        self._ends: dict[tuple[str | None, str], list[int]] = defaultdict(list)
        for row in rows:
            for reader in row.held_back:
                if _length(reader) >= SECOND:
                    self._ends[reader.client_instance_id, reader.partition].append(reader.until_ns)

    def served_before(self, reader: BlockedConsumer) -> bool:
        """Whether the consumer was not held back before, for at least a third of the time for which it then was: behind
        producers that begin the next transaction at once, consumers always wait."""
        ends = self._ends[reader.client_instance_id, reader.partition]
        since_ns = max((end for end in ends if end < reader.until_ns), default=self._start_ns)
        return 3 * (reader.from_ns - since_ns) >= _length(reader)


def _length(reader: BlockedConsumer) -> int:
    """Returns for how long the consumer was held back, in nanoseconds."""
    return reader.until_ns - reader.from_ns


def _affected(failures: Iterable[Failure]) -> dict[str, list[Failure]]:
    """Returns the failures that affected each client."""
    of_client: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        for name in clients_of(failure):
            of_client[name].append(failure)
    return of_client


def _is_met(met: Mapping[str, list[Failure]], row: TransactionRow, held: list[BlockedConsumer]) -> bool:
    """Whether another failure affected the producer during the transaction, which then could not end it."""
    until_ns = max(reader.until_ns for reader in held)
    from_ns = min(reader.from_ns for reader in held)
    return any(f.overlap_ns(from_ns, until_ns) >= 0 for f in met.get(row.client_instance_id or "", ()))
