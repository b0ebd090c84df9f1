"""How each transactional id fared: committed, aborted, fenced, hanging, how long it took, and what did not end well."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, TRANSACTIONS
from kafkascope_analyzer.dataset.stories.transactions import OUTCOMES
from kafkascope_analyzer.dataset.table_rows import has_table, one_of, rows
from kafkascope_analyzer.report.clipped import clipped, list_columns
from kafkascope_analyzer.report.latency import Histogram

Row = dict[str, Any]

_NOT_WELL = ("hanging", "fenced", "aborted", "open")
"""Outcomes that are listed one by one, the gravest first."""
MOST_IDS = 200
MOST_TOLD = 20
"""Limits of report.json; the table transactions has everything."""
_LISTS = list_columns(TRANSACTIONS)
_COLUMNS = [c.name for c in TRANSACTIONS.columns if not c.name.endswith("_ts")]
_MOST_KEPT = 4 * MOST_TOLD


@dataclass(slots=True)
class _Id:
    """What is counted of a transactional id."""

    outcomes: Counter[str] = field(default_factory=Counter)
    protocols: set[str] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)
    took: Histogram = field(default_factory=Histogram)
    n_records: int = 0
    n_markers: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    unwell: list[Row] = field(default_factory=list)


def transactions(dataset: Dataset) -> Row:
    """Transactional ids, those in trouble first."""
    found: dict[str, _Id] = {}
    for row in rows(dataset, TRANSACTIONS, _COLUMNS):
        _add(found.setdefault(row["transactional_id"] or "", _Id()), row)
    in_order = sorted(found.items(), key=lambda item: (-_weight(item[1]), item[1].first_ns or 0, item[0]))
    chosen = in_order[:MOST_IDS]
    ids = sorted({client for _, known in chosen for client in known.clients} | _fencing(chosen))
    who = rows(dataset, CLIENTS, ["client_instance_id", "client_id"], one_of("client_instance_id", ids))
    names = {row["client_instance_id"]: row["client_id"] for row in who}
    total = sum((known.outcomes for known in found.values()), Counter[str]())
    return {
        "present": has_table(dataset, TRANSACTIONS),
        "n": sum(total.values()),
        "outcomes": {outcome: total[outcome] for outcome in OUTCOMES},
        "n_ids": len(found),
        "ids": [_told(name, known, names) for name, known in chosen],
    }


def _fencing(chosen: list[tuple[str, _Id]]) -> set[str]:
    """Client instances that took a transactional id over."""
    return {row["fenced_by"] for _, known in chosen for row in known.unwell if row["fenced_by"]}


def _add(known: _Id, row: Row) -> None:
    outcome = row["outcome"] or "cut"
    known.outcomes[outcome] += 1
    known.n_records += row["n_records"] or 0
    known.n_markers += row["n_markers"] or 0
    if row["transactions"]:
        known.protocols.add(row["transactions"])
    if row["client_instance_id"]:
        known.clients.add(row["client_instance_id"])
    times = [ns for ns in (row["begin_ns"], row["end_ns"]) if ns is not None]
    if times:
        known.first_ns = min(times if known.first_ns is None else [known.first_ns, *times])
        known.last_ns = max(times if known.last_ns is None else [known.last_ns, *times])
    row["duration_us"] = (times[1] - times[0]) // 1000 if len(times) == 2 else None
    if row["duration_us"] is not None:
        known.took.add(np.array([row["duration_us"]], np.int64))
    if outcome in _NOT_WELL:
        known.unwell.append(row)
        if len(known.unwell) > _MOST_KEPT:
            known.unwell = sorted(known.unwell, key=_gravity)[:MOST_TOLD]


def _weight(known: _Id) -> int:
    return 1000 * known.outcomes["hanging"] + 100 * known.outcomes["fenced"] + known.outcomes["aborted"]


def _gravity(row: Row) -> tuple[int, int, int]:
    return _NOT_WELL.index(row["outcome"]), row["begin_ns"] or 0, row["transaction_no"] or 0


def _told(name: str, known: _Id, names: dict[str, str | None]) -> Row:
    worst = sorted(known.unwell, key=_gravity)[:MOST_TOLD]
    return {
        "transactional_id": name,
        "n": sum(known.outcomes.values()),
        "outcomes": {outcome: known.outcomes[outcome] for outcome in OUTCOMES},
        "transactions": sorted(known.protocols),
        "clients": [{"client_instance_id": i, "client_id": names.get(i)} for i in sorted(known.clients)],
        "n_records": known.n_records,
        "n_markers": known.n_markers,
        "p50_us": known.took.percentile(0.5),
        "max_us": known.took.max_us,
        "first_ns": known.first_ns,
        "last_ns": known.last_ns,
        "n_unwell": sum(known.outcomes[outcome] for outcome in _NOT_WELL),
        "unwell": [_unwell(row, names) for row in sorted(worst, key=lambda row: (row["begin_ns"] or 0, _gravity(row)))],
    }


def _unwell(row: Row, names: dict[str, str | None]) -> Row:
    own = {name: row[name] for name in _COLUMNS if name != "transactional_id"}
    own = {name: [] if value is None and name in _LISTS else value for name, value in own.items()}
    fenced_by = {"fenced_by_client_id": names.get(row["fenced_by"])}
    return {"duration_us": row["duration_us"], **fenced_by, **clipped(own)}
