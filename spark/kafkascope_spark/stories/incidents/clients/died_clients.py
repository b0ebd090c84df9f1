"""Clients whose processes ended without a clean close."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.client_died import CLIENT_DIED
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.transactions.table import TransactionRow

_UNSERVED = frozenset({"silent", "frozen", "not_reading", "flow_dead"})
"""States in which a client gives up its connections after a while, because nothing comes or nothing is taken."""
TOGETHER_NS = SECOND
"""Clients of one host that end within this time of each other are one failure: a process may have several clients."""


def died_clients(
    clients: Iterable[AffectedClient], failures: Iterable[Failure], transactions: Iterable[TransactionRow] = ()
) -> Iterator[Failure]:
    """Yields the failures, in order of time. failures: all others; a client is left out if its group waited for it or
    removed it, because the failure of that group names it, and if it gave up the connections to servers that did not
    serve it. transactions: a client that left one open did not close cleanly."""
    left_open = {row.client_instance_id: row for row in transactions if row.left_ns is not None}
    others = list(failures)
    told = {member.client_instance_id for f in others for row in f.rebalances for member in row.lost}
    told |= {client.client_instance_id for f in others for client in f.members.dead}
    unserved = _unserved(others)
    last_of: dict[str, Failure] = {}
    died = (
        (died_ns, row)
        for row in clients
        if row.client_instance_id not in told and (died_ns := _died_ns(row, left_open)) is not None
        if row.client_instance_id in left_open or not _gave_up(row, died_ns, unserved[row.client_ip])
    )
    names: dict[Failure, set[str]] = {}
    for died_ns, row in sorted(died, key=lambda each: (each[0], each[1].client_instance_id)):
        failure = last_of.get(row.client_ip)
        if failure is None or died_ns > failure.start_ns + TOGETHER_NS:
            failure = last_of[row.client_ip] = Failure(CLIENT_DIED, "", died_ns, died_ns)
            failure.hosts = frozenset({row.client_ip})
            names[failure] = set()
        failure.client_instance_ids.add(row.client_instance_id)
        if row.client_instance_id in left_open:
            _leave_open(failure, left_open[row.client_instance_id])
        names[failure].add(client(row.client_id, row.client_ip))
        failure.subject = listed(sorted(names[failure]))
    yield from names


def _unserved(failures: Iterable[Failure]) -> dict[str, list[BrokerState]]:
    """Returns the states in which servers did not serve clients, by host."""
    found: dict[str, list[BrokerState]] = defaultdict(list)
    for failure in failures:
        for row in failure.states:
            if row.state in _UNSERVED and row.host_kind == "client":
                found[row.host].append(row)
    return found


def _gave_up(client: AffectedClient, died_ns: int, unserved: Sequence[BrokerState]) -> bool:
    """Whether none of the client's servers served its host when it ended its connections: then it gave them up, and its
    process need not have ended. unserved: states of its host."""
    at_that_time = {row.server for row in unserved if row.shown_from_ns <= died_ns <= row.until_ns}
    return bool(client.servers) and at_that_time.issuperset(client.servers)


def _leave_open(failure: Failure, transaction: TransactionRow) -> None:
    """Adds a transaction that a client left open, and how long it held back consumers that read committed records."""
    failure.left_open.append(transaction)
    for reader in transaction.held_back:
        if reader.until_ns - reader.from_ns >= SECOND:
            failure.waited_ms = max(failure.waited_ms, (reader.until_ns - reader.from_ns) // 1_000_000)
            failure.end_ns = max(failure.end_ns or 0, reader.until_ns)


def _died_ns(client: AffectedClient, left_open: Mapping[str | None, TransactionRow]) -> int | None:
    """Returns when the client ended without a clean close; None if it closed cleanly or did not end."""
    transaction = left_open.get(client.client_instance_id)
    return client.died_ns if client.died_ns is not None or transaction is None else transaction.left_ns
