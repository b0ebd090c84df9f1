"""The topic-partitions of a rebalance that nobody read for a while, in words: the same in every report."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafkascope_analyzer.report.words import clock, count, safe, span

Row = dict[str, Any]
Names = Mapping[str, str]
"""Member id -> client id, where it has one."""


def member_names(rebalances: Iterable[Row]) -> Names:
    """The names of all members of these rows of `rebalances`, also of those that are gone."""
    members = (m for row in rebalances for part in ("members", "departed") for m in row[part] or ())
    return {m["member_id"]: m["client_id"] for m in members if m["member_id"] and m["client_id"]}


def unread_partitions(row: Row) -> list[Row]:
    """The partitions of a rebalance that were unread: the longest first."""
    unread = [entry for entry in row["partitions"] or () if entry["unread_ms"] is not None]
    return sorted(unread, key=lambda e: (-e["unread_ms"], e["topic"] or "", e["partition"] or 0))


def most_unread_text(unread_ms: int | None) -> str:
    """`partitions unread for up to 5.45 s`; empty where none was."""
    return "" if unread_ms is None else f"partitions unread for up to {span(1000 * unread_ms)}"


def unread_text(row: Row, names: Names, capture_ns: int) -> str:
    """How many partitions of a rebalance were unread, and the one that was for the longest time; empty where none
    was."""
    unread = unread_partitions(row)
    if not unread:
        return ""
    n = len({(entry["topic"], entry["partition"]) for entry in unread})
    if n == 1:
        return partition_text(unread[0], names, capture_ns)
    longest = f"{_name(unread[0])}{_owners(unread[0], names)} the longest: {_how_long(unread[0], capture_ns)}"
    return f"{count(n, 'partition')} were unread, {longest}"


def partition_text(entry: Row, names: Names, capture_ns: int) -> str:
    """`clicks-3 (reader-1 → reader-2) was unread for 5.45 s from 00:16.231 to 00:21.681`; of a partition of which
    nothing waited, who had it and has it."""
    what = f"{_name(entry)}{_owners(entry, names)}"
    if entry["unread_ms"] is None:
        return f"{what} has another owner"
    return f"{what} was unread {_how_long(entry, capture_ns)}"


def _name(entry: Row) -> str:
    return f"{safe(entry['topic'])}-{entry['partition']}"


def _how_long(entry: Row, capture_ns: int) -> str:
    begun, until = clock(entry["unread_from_ns"] - capture_ns), entry["unread_to_ns"]
    ended = "until the capture ended" if until is None else f"to {clock(until - capture_ns)}"
    return f"for {span(1000 * entry['unread_ms'])} from {begun} {ended}"


def _owners(entry: Row, names: Names) -> str:
    """` (reader-1 → reader-2)`, ` (reader-1)` where it kept its owner, nothing where no owner is known."""
    before, after = entry["owner_before"], entry["owner_after"]
    if before is None and after is None:
        return ""
    if before == after:
        return f" ({safe(names.get(after, after))})"
    who = ["nobody" if owner is None else safe(names.get(owner, owner)) for owner in (before, after)]
    return f" ({who[0]} → {who[1]})"
