"""The transactions of each transactional id: committed, aborted, fenced, hanging, their duration, and those that did
not end well."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from kafkascope_analyzer.report.model.client_names import client_ids
from kafkascope_analyzer.report.model.latency import percentiles_sql
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.plain import CLIPPED, arguments_of
from kafkascope_analyzer.report.rows import column_names, grouped, select
from kafkascope_analyzer.sql.database import Database
from kafkascope_spark.stories.tables import TRANSACTIONS
from kafkascope_spark.stories.transactions.table import OUTCOMES, BlockedConsumer, TransactionRow

_NOT_WELL = ("hanging", "fenced", "aborted", "open")
"""Outcomes whose transactions are listed one by one, the most severe first."""
MOST_IDS = 200
MOST_UNWELL = 20
"""Most transactions that did not end well in report.json; the table transactions has all."""


@dataclass(slots=True)
class Transaction(TransactionRow):
    """A row of stories/transactions."""

    partitions: Annotated[tuple[str, ...], CLIPPED]
    offset_groups: Annotated[tuple[str, ...], CLIPPED]
    error_names: Annotated[tuple[str, ...], CLIPPED]
    evidence: Annotated[tuple[str, ...], CLIPPED]
    held_back: Annotated[tuple[BlockedConsumer, ...], CLIPPED]
    duration_us: Annotated[int | None, "time from begin to end"] = None
    fenced_by_client_id: Annotated[str | None, "client id of the instance that took over its transactional id"] = None


@dataclass(frozen=True, slots=True)
class TransactionClient:
    """A client of a transactional id."""

    client_instance_id: Annotated[str, "client"]
    client_id: Annotated[str | None, "client id"]


@dataclass(frozen=True, slots=True)
class TransactionalId:
    """A transactional id with its transactions."""

    transactional_id: Annotated[str, "transactional id; empty where the capture does not show it"]
    n: Annotated[int, "its transactions"]
    outcomes: Annotated[dict[str, int], "transactions by how they ended"]
    transactions: Annotated[tuple[str, ...], "protocols: v1, v2 (KIP-890)"]
    clients: Annotated[tuple[TransactionClient, ...], "clients that used it"]
    n_records: Annotated[int, "records written"]
    n_markers: Annotated[int, "markers seen"]
    p50_us: Annotated[int | None, "median from begin to end"]
    max_us: Annotated[int | None, "longest"]
    first_ns: Annotated[int | None, "first begin"]
    last_ns: Annotated[int | None, "last end"]
    n_unwell: Annotated[int, "transactions that were not committed"]
    unwell: Annotated[tuple[Transaction, ...], "20 of them by time: hanging, then fenced, aborted, open"]


@dataclass(frozen=True, slots=True)
class Transactions(Presence):
    """Transactions of each transactional id."""

    n: Annotated[int, "transactions"]
    outcomes: Annotated[dict[str, int], "transactions by how they ended"]
    n_ids: Annotated[int, "transactional ids"]
    ids: Annotated[tuple[TransactionalId, ...], "transactional ids, those with problems first, at most 200"]


@dataclass(frozen=True, slots=True)
class _Summed:
    """Totals over all transactions of a transactional id."""

    name: str
    outcomes: dict[str, int]
    protocols: tuple[str, ...]
    clients: tuple[str, ...]
    n_records: int
    n_markers: int
    p50_us: int | None
    max_us: int | None
    first_ns: int | None
    last_ns: int | None


_NAME = "coalesce(transactional_id, '')"
_TOOK = "case when begin_ns is not null then (end_ns - begin_ns) // 1000 end"
_SUMMED = f"""
with took as ({percentiles_sql({"name": _NAME}, _TOOK, "transactions")}), summed as (
    select {_NAME} as name, histogram(coalesce(nullif(outcome, ''), 'cut')) as outcomes,
        list_sort(list(distinct transactions) filter (transactions <> '')) as protocols,
        list_sort(list(distinct client_instance_id) filter (client_instance_id <> '')) as clients,
        sum(n_records)::bigint as n_records, sum(n_markers)::bigint as n_markers,
        least(min(begin_ns), min(end_ns)) as first_ns, greatest(max(begin_ns), max(end_ns)) as last_ns
    from transactions group by 1
)
select summed.*, p50_us, max_us from summed left join took using (name)
"""
_GRAVITY = f"list_position([{', '.join(map(repr, _NOT_WELL))}], outcome)"
_UNWELL = f"""
select {column_names(Transaction)} from transactions where {_GRAVITY} is not null
qualify row_number() over (
    partition by {_NAME} order by {_GRAVITY}, coalesce(begin_ns, 0), coalesce(transaction_no, 0)) <= {MOST_UNWELL}
order by coalesce(begin_ns, 0), {_GRAVITY}, coalesce(transaction_no, 0)
"""


def transactions(database: Database) -> Transactions:
    """Returns transactional ids, those with problems first."""
    unwell = grouped(select(database, _UNWELL, Transaction), lambda row: row.transactional_id or "")
    found = [_id(row, unwell.get(row.name, [])) for row in select(database, _SUMMED, _Summed)]
    found.sort(key=lambda one: (-_weight(one), one.first_ns or 0, one.transactional_id))
    ids = {client.client_instance_id for one in found[:MOST_IDS] for client in one.clients}
    ids |= {row.fenced_by for one in found[:MOST_IDS] for row in one.unwell if row.fenced_by}
    names = client_ids(database.dataset, ids)
    total = {outcome: sum(one.outcomes[outcome] for one in found) for outcome in OUTCOMES}
    return Transactions(
        **arguments_of(presence(database.dataset, TRANSACTIONS)),
        n=sum(one.n for one in found),
        outcomes=total,
        n_ids=len(found),
        ids=tuple(_named(one, names) for one in found[:MOST_IDS]),
    )


def _id(row: _Summed, unwell: list[Transaction]) -> TransactionalId:
    counts = Counter(row.outcomes)
    return TransactionalId(
        transactional_id=row.name,
        n=counts.total(),
        outcomes={outcome: counts[outcome] for outcome in OUTCOMES},
        transactions=row.protocols,
        clients=tuple(TransactionClient(client, None) for client in row.clients),
        n_records=row.n_records,
        n_markers=row.n_markers,
        p50_us=row.p50_us,
        max_us=row.max_us,
        first_ns=row.first_ns,
        last_ns=row.last_ns,
        n_unwell=sum(counts[outcome] for outcome in _NOT_WELL),
        unwell=tuple(unwell),
    )


def _named(one: TransactionalId, names: Mapping[str, str | None]) -> TransactionalId:
    """Returns the id with the client ids of its clients, and of the clients that fenced it."""
    clients = tuple(replace(client, client_id=names.get(client.client_instance_id)) for client in one.clients)
    unwell = tuple(
        replace(row, duration_us=row.took_us, fenced_by_client_id=names.get(row.fenced_by or "")) for row in one.unwell
    )
    return replace(one, clients=clients, unwell=unwell)


def _weight(one: TransactionalId) -> int:
    return 1000 * one.outcomes["hanging"] + 100 * one.outcomes["fenced"] + one.outcomes["aborted"]
