"""Findings without an incident, rebalances by group, and transactions by their id, in the order of the page."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table
from kafkascope_analyzer.report.formatting import count, safe, span
from kafkascope_analyzer.report.model.findings import Findings
from kafkascope_analyzer.report.model.rebalances import GroupRebalances
from kafkascope_analyzer.report.model.transactions import Transaction
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, member_names, unread_of, unread_text
from kafkascope_analyzer.report.plain import arguments_of
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.tables import REBALANCES, TRANSACTIONS
from kafkascope_spark.stories.transactions.table import BlockedConsumer

MOST_ROWS = 2_000
MOST_EVIDENCE = 12
MOST_MEMBERS = 50
MOST_NAMES = 5
MOST_PARTITIONS = 10


@dataclass(frozen=True, slots=True)
class PlacedFindings(Findings):
    """Findings, and indices into `listed` of those that belong to no incident: `alone` are above severity info, `notes`
    the others. notes_title is empty where there are none.
    """

    title: str
    alone: tuple[int, ...]
    notes_title: str
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageGroup:
    """A group with the indices of its rebalances."""

    name: str
    in_short: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacedRebalances:
    """Rebalances by time."""

    present: bool
    n: int
    listed: tuple[Rebalance, ...]
    groups: tuple[PageGroup, ...]


@dataclass(slots=True)
class WordedTransaction(Transaction):
    """A transaction with its duration, the name of the client that fenced it, and the readers that it blocked."""

    took: str = ""
    fenced_by_name: str = ""
    held_back_text: str = ""


@dataclass(frozen=True, slots=True)
class PageTransactionalId:
    """A transactional id with the indices of its transactions."""

    name: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacedTransactions:
    """Transactions by time."""

    present: bool
    n: int
    listed: tuple[WordedTransaction, ...]
    ids: tuple[PageTransactionalId, ...]
    outcomes: dict[str, int]


def placed_findings(findings: Findings) -> PlacedFindings:
    """Returns the findings, with the indices of those that belong to no incident."""
    alone = [place for place, row in enumerate(findings.listed) if row.incident_id is None]
    notes = tuple(place for place in alone if findings.listed[place].severity == "info")
    return PlacedFindings(
        **arguments_of(findings),
        title="Other findings" if findings.n_under_incidents else "Findings",
        alone=tuple(place for place in alone if place not in notes),
        notes_title=f"{count(len(notes), 'note')}: worth knowing" if notes else "",
        notes=notes,
    )


def load_rebalances(dataset: Dataset, groups: Sequence[GroupRebalances]) -> PlacedRebalances:
    """Loads rebalances by time, at most MOST_ROWS, each with the partitions that were unread. groups: the groups of the
    report, which have the time for which their partitions were unread.
    """
    names, (start_ns, _) = member_names(read(dataset, Rebalance)), capture_span(dataset)
    found = heapq.nsmallest(MOST_ROWS, read(dataset, Rebalance), key=lambda row: (row.start_ns or 0, row.rebalance_id))
    shown = tuple(replace(_short(row), unread_text=unread_text(row, names, start_ns)) for row in found)
    is_present, n = has_table(dataset, REBALANCES), dataset.rows(REBALANCES.stored_as)
    return PlacedRebalances(is_present, n if is_present else 0, shown, groups_of(shown, groups))


def _short(row: Rebalance) -> Rebalance:
    """Returns the rebalance with at most as many members and partitions as a page shows."""
    members = tuple(
        replace(
            member,
            assigned=member.assigned[:MOST_NAMES],
            standby=member.standby[:MOST_NAMES],
            gained=member.gained[:MOST_NAMES],
            lost=member.lost[:MOST_NAMES],
        )
        for member in row.members[:MOST_MEMBERS]
    )
    return replace(
        row,
        members=members,
        departed=row.departed[:MOST_MEMBERS],
        partitions=unread_of(row)[:MOST_PARTITIONS],
        refused_commits=row.refused_commits[:MOST_NAMES],
        fenced=row.fenced[:MOST_NAMES],
        evidence=row.evidence[:MOST_EVIDENCE],
    )


def groups_of(rebalances: Sequence[Rebalance], groups: Sequence[GroupRebalances]) -> tuple[PageGroup, ...]:
    """Returns groups with the indices of their rebalances; those that rebalanced most often come first."""
    unread = {(row.group_id, row.group_protocol): row.unread_text for row in groups}
    found = grouped(enumerate(rebalances), lambda placed: (placed[1].group_id or "", placed[1].group_protocol))
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0][0], item[0][1] or ""))
    return tuple(_group(key, placed, unread.get(key)) for key, placed in ordered)


def _group(key: tuple[str, str | None], placed: list[tuple[int, Rebalance]], unread: str | None) -> PageGroup:
    name, protocol = key
    kind = f"{protocol.replace('_', ' ')} · " if protocol else ""
    lasted = span(1000 * sum(row.duration_ms or 0 for _, row in placed))
    text = f"{kind}{count(len(placed), 'rebalance')}, {lasted} in all"
    in_short = f"{text}; {unread}" if unread else text
    return PageGroup(safe(name or "?"), in_short, tuple(place for place, _ in placed))


def load_transactions(dataset: Dataset, names: Mapping[str, str], outcomes: dict[str, int]) -> PlacedTransactions:
    """Loads transactions by time, at most MOST_ROWS. names: client names by client_instance_id; outcomes: number of
    transactions by outcome, from the report."""
    found = heapq.nsmallest(
        MOST_ROWS, read(dataset, WordedTransaction), key=lambda row: (row.begin_ns or 0, str(row.transaction_no))
    )
    shown = tuple(worded_transaction(row, names) for row in found)
    is_present, n = has_table(dataset, TRANSACTIONS), dataset.rows(TRANSACTIONS.stored_as)
    return PlacedTransactions(is_present, n if is_present else 0, shown, transactional_ids(shown), outcomes)


def worded_transaction(row: WordedTransaction, names: Mapping[str, str]) -> WordedTransaction:
    """Returns the transaction with its words, and with at most as many partitions as a page shows."""
    held_back = row.held_back[:MOST_EVIDENCE]
    return replace(
        row,
        partitions=row.partitions[:MOST_PARTITIONS],
        offset_groups=row.offset_groups[:MOST_NAMES],
        error_names=row.error_names[:MOST_NAMES],
        evidence=row.evidence[:MOST_EVIDENCE],
        held_back=held_back,
        took=span(row.took_us),
        fenced_by_name=names.get(row.fenced_by or "", safe(row.fenced_by or "")),
        held_back_text="; ".join(_held_back(one, names) for one in held_back),
    )


def _held_back(one: BlockedConsumer, names: Mapping[str, str]) -> str:
    who = names.get(one.client_instance_id or "", "a consumer")
    return f"{who} on {safe(one.partition)} for {span((one.until_ns - one.from_ns) // 1000)}"


def transactional_ids(transactions: Sequence[Transaction]) -> tuple[PageTransactionalId, ...]:
    """Returns transactional ids by name, with the indices of their transactions."""
    found = grouped(enumerate(transactions), lambda placed: placed[1].transactional_id or "?")
    return tuple(PageTransactionalId(safe(name), tuple(n for n, _ in found[name])) for name in sorted(found))
