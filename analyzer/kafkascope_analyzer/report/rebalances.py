"""How often each group rebalanced, why, who came last, and for how long nobody read its partitions."""

from collections import Counter, defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, REBALANCES
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table, one_of, rows
from kafkascope_analyzer.report.clipped import clipped, list_columns
from kafkascope_analyzer.report.unread_partitions import (
    Names,
    member_names,
    most_unread_text,
    unread_partitions,
    unread_text,
)

Row = dict[str, Any]

MOST_GROUPS = 100
MOST_REBALANCES = 50
MOST_MEMBERS = 50
"""Limits of report.json; the table rebalances has everything."""
_LISTS = list_columns(REBALANCES)
_COLUMNS = [c.name for c in REBALANCES.columns if not c.name.endswith("_ts")]


def rebalances(dataset: Dataset) -> Row:
    """Groups with their rebalances by time; those whose partitions were unread longest where there are too many."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows(dataset, REBALANCES, _COLUMNS):
        groups[row["group_id"] or "", row["group_protocol"] or ""].append(row)
    start_ns, _ = capture_span(dataset)
    told = [_group(*names, of_group, start_ns) for names, of_group in groups.items()]
    told.sort(key=_gravest_first)
    chosen = told[:MOST_GROUPS]
    _name_members(dataset, chosen)
    return {
        "present": has_table(dataset, REBALANCES),
        "n": sum(group["n"] for group in told),
        "n_groups": len(told),
        "groups": chosen,
    }


def _gravest_first(group: Row) -> tuple[int, int, str, str]:
    return -(group["unread_ms"] or 0), -group["n"], group["group_id"], group["group_protocol"] or ""


def _group(group_id: str, protocol: str, of_group: list[Row], start_ns: int) -> Row:
    of_group.sort(key=lambda row: (row["start_ns"] or 0, row["generation"] or 0, row["rebalance_id"]))
    names = member_names(of_group)
    listed = [_rebalance(row, names, start_ns) for row in of_group[:MOST_REBALANCES]]
    unread_ms = max((row["unread_ms"] for row in of_group if row["unread_ms"] is not None), default=None)
    triggers = Counter(row["trigger"] or "unknown" for row in of_group)
    return {
        "group_id": group_id,
        "group_protocol": protocol or None,
        "n": len(of_group),
        "triggers": dict(sorted(triggers.items())),
        "unread_ms": unread_ms,
        "unread_text": most_unread_text(unread_ms),
        "longest_ms": max((row["duration_ms"] or 0 for row in of_group), default=0),
        "first_ns": min((row["start_ns"] for row in of_group if row["start_ns"] is not None), default=None),
        "last_ns": max((row["end_ns"] for row in of_group if row["end_ns"] is not None), default=None),
        "listed": listed,
    }


def _rebalance(row: Row, names: Names, start_ns: int) -> Row:
    """A rebalance, with its partitions those that were unread longest first, and what that comes to in words."""
    members = sorted(row["members"] or (), key=lambda m: (m["joined_ns"] or 0, m["member_id"] or ""))
    unread = unread_partitions(row)
    others = [entry for entry in row["partitions"] or () if entry["unread_ms"] is None]
    row = row | {"partitions": unread + others}
    own = {name: row[name] for name in _COLUMNS if name not in ("group_id", "group_protocol", "members")}
    told = clipped({name: [] if value is None and name in _LISTS else value for name, value in own.items()})
    told["unread_text"] = unread_text(row, names, start_ns)
    return {**told, "members": [clipped(member) for member in members[:MOST_MEMBERS]]}


def _name_members(dataset: Dataset, groups: list[Row]) -> None:
    """Gives members, and the last that joined, the client id of their instance."""
    listed = [row for group in groups for row in group["listed"]]
    ids = sorted({m["client_instance_id"] for row in listed for m in row["members"] if m["client_instance_id"]})
    found = rows(dataset, CLIENTS, ["client_instance_id", "client_id"], one_of("client_instance_id", ids))
    names = {row["client_instance_id"]: row["client_id"] for row in found}
    for row in listed:
        for member in row["members"]:
            member["client_id"] = member.get("client_id") or names.get(member["client_instance_id"])
        last = row["last_joiner"]
        known = (m["client_id"] for m in row["members"] if last in (m["member_id"], m["client_instance_id"]))
        row["last_joiner_client_id"] = next(known, None)
