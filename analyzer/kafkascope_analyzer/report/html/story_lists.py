"""Which findings stand alone, which rebalances are one group's, which transactions are one id's: in the order of the
page.
"""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.report.words import count, safe, span

Row = dict[str, Any]


def findings_alone(findings: Row) -> Row:
    """The findings that belong to no incident, as places in findings.listed: `alone` are those above info, `notes` the
    others. notes_title is empty where there are none.
    """
    places = [n for n, row in enumerate(findings.get("listed", ())) if row["incident_id"] is None]
    rows = {n: findings["listed"][n] for n in places}
    alone = [n for n in places if rows[n]["severity"] != "info"]
    notes = [n for n in places if rows[n]["severity"] == "info"]
    besides = len(places) < len(findings.get("listed", ()))
    title = "Other findings" if besides else "Findings"
    notes_title = f"{count(len(notes), 'note')}: worth knowing" if notes else ""
    return {"title": title, "alone": alone, "notes_title": notes_title, "notes": notes}


def groups_of(rebalances: Row, groups: list[Row]) -> list[Row]:
    """Groups with the places of their rebalances in rebalances.listed; those that rebalanced most often come first.

    groups: those of report.json, which say for how long their partitions were unread.
    """
    unread = {(row["group_id"], row["group_protocol"]): row["unread_text"] for row in groups}
    found: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for n, row in enumerate(rebalances["listed"]):
        found[row["group_id"] or "", row["group_protocol"]].append(n)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0][0], item[0][1] or ""))
    return [_group(key, [(n, rebalances["listed"][n]) for n in places], unread.get(key)) for key, places in ordered]


def _group(key: tuple[str, str | None], placed: list[tuple[int, Row]], unread: str | None) -> Row:
    name, protocol = key
    kind = f"{protocol.replace('_', ' ')} · " if protocol else ""
    lasted = span(1000 * sum(row["duration_ms"] or 0 for _, row in placed))
    text = f"{kind}{count(len(placed), 'rebalance')}, {lasted} in all"
    in_short = f"{text}; {unread}" if unread else text
    return {"name": safe(name or "?"), "in_short": in_short, "places": [place for place, _ in placed]}


def add_transaction_texts(transactions: Row, names: dict[str, str]) -> None:
    """Adds to each transaction how long it `took`, the name of the client that fenced it, and whose reads it held back.

    names: of clients, by client_instance_id.
    """
    for row in transactions["listed"]:
        is_whole = row["begin_ns"] is not None and row["end_ns"] is not None
        row["took"] = span((row["end_ns"] - row["begin_ns"]) // 1000) if is_whole else ""
        row["fenced_by_name"] = names.get(row.get("fenced_by") or "", safe(row.get("fenced_by") or ""))
        row["held_back_text"] = "; ".join(_held_back(one, names) for one in row.get("held_back") or ())


def _held_back(one: Row, names: dict[str, str]) -> str:
    who = names.get(one["client_instance_id"] or "", "a consumer")
    return f"{who} on {safe(one['partition'])} for {span((one['until_ns'] - one['from_ns']) // 1000)}"


def transactional_ids(transactions: Row) -> list[Row]:
    """Transactional ids by name, with the places of their transactions in transactions.listed."""
    found: dict[str, list[int]] = defaultdict(list)
    for n, row in enumerate(transactions["listed"]):
        found[row["transactional_id"] or "?"].append(n)
    return [{"name": safe(name), "places": found[name]} for name in sorted(found)]
