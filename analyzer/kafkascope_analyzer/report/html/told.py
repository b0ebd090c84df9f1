"""What the stories tell, bounded for a page: starts and episodes with their steps, and whom each cause hit.

Clients in trouble come first where there is more than a page can hold; `n_*` beside a list counts all.
"""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES, RECOVERY_STEP_ROWS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_analyzer.report.causes import NOT_WELL, felt_ns
from kafkascope_analyzer.report.clients import both_ends
from kafkascope_analyzer.report.scan import one_of, rows
from kafkascope_analyzer.report.terminal_causes import radius, title

MOST_STARTS = 2_000
MOST_STARTS_WITH_STEPS = 400
MOST_EPISODES = 5_000
MOST_EPISODES_WITH_STEPS = 600
_MEANINGS = {
    "CONCURRENT_TRANSACTIONS": "the transaction before was still ending",
    "REQUEST_TIMED_OUT": "replicas did not confirm in time",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "a producer's batch came out of order",
    "FETCH_SESSION_ID_NOT_FOUND": "a fetch session was gone",
    "UNKNOWN_TOPIC_OR_PARTITION": "a topic or partition was not known",
    "REBALANCE_IN_PROGRESS": "a group was rebalancing",
    "UNSTABLE_OFFSET_COMMIT": "offsets of an open transaction were asked for",
}
MOST_FELT = 100
"""Clients listed under one cause."""

Row = dict[str, Any]


def load_starts(dataset: Dataset) -> Row:
    """The starts by time, those that went wrong or took longest where there are too many, brokers' own last."""
    brokers = _brokers(dataset)
    everyone = list(rows(dataset, STARTUPS, _without_ts(STARTUPS)))

    def weight(row: Row) -> tuple[bool, bool, int, str]:
        well = row["outcome"] in ("ready", "cut")
        return row["client_instance_id"] in brokers, well, -(row["total_us"] or 0), row["startup_id"]

    everyone.sort(key=weight)
    chosen = everyone[:MOST_STARTS]
    steps: dict[str, list[Row]] = defaultdict(list)
    wanted = [row["startup_id"] for row in chosen[:MOST_STARTS_WITH_STEPS]]
    for row in rows(dataset, STARTUP_STEP_ROWS, _without_ts(STARTUP_STEP_ROWS), one_of("startup_id", wanted)):
        row["request_ids"] = (row["request_ids"] or [])[:2]
        steps[row.pop("startup_id")].append(row)
    for row in chosen:
        mine = sorted(steps[row["startup_id"]], key=lambda step: step["seq"] or 0)
        row["n_steps"], row["steps"] = len(mine), both_ends(mine)
    chosen.sort(key=lambda row: (row["start_ns"] or 0, row["startup_id"]))
    return {"n": len(everyone), "listed": chosen}


def load_episodes(dataset: Dataset) -> Row:
    """The episodes by time, those that did not end well or took longest where there are too many."""
    everyone = list(rows(dataset, RECOVERIES, _without_ts(RECOVERIES)))

    def weight(row: Row) -> tuple[bool, int, int, str]:
        return (
            row["outcome"] not in NOT_WELL,
            -(row["time_to_recover_ms"] or 0),
            -(row["n_errors"] or 0),
            row["recovery_id"],
        )

    everyone.sort(key=weight)
    chosen = everyone[:MOST_EPISODES]
    steps: dict[str, list[Row]] = defaultdict(list)
    wanted = [row["recovery_id"] for row in chosen[:MOST_EPISODES_WITH_STEPS]]
    for row in rows(dataset, RECOVERY_STEP_ROWS, _without_ts(RECOVERY_STEP_ROWS), one_of("recovery_id", wanted)):
        steps[row.pop("recovery_id")].append(row)
    for row in chosen:
        mine = sorted(steps[row["recovery_id"]], key=lambda step: step["seq"] or 0)
        row["n_steps"], row["steps"] = len(mine), both_ends(mine)
        row["evidence"] = (row["evidence"] or [])[:6]
        row["since_ns"] = felt_ns(row)
    chosen.sort(key=lambda row: (row["start_ns"] or 0, row["recovery_id"]))
    return {"n": len(everyone), "listed": chosen}


def told_causes(model: Row, dataset: Dataset) -> list[Row]:
    """The model's causes, each with a title, whom it hit in words, and `felt`: by client how long until it worked."""
    listed = model.get("causes", {}).get("listed", [])
    wanted = {cause["cause_id"]: cause for cause in listed}
    felt: dict[str, dict[str, Row]] = {cause_id: {} for cause_id in wanted}
    columns = ["cause_id", "recovery_id", "client_instance_id", "start_ns", "recovered_ns", "outcome", "resource"]
    columns += ["n_errors", "first_error_name", "failing_ns"]
    for row in rows(dataset, RECOVERIES, columns):
        of_cause = felt.get(row["cause_id"] or row["recovery_id"])
        if of_cause is not None:
            _feel(of_cause, row)
    brokers = {b["node_id"]: (b["addresses"] or b["advertised"] or [None])[0] for b in model["cluster"]["brokers"]}
    told = []
    for cause_id, cause in wanted.items():
        worst_first = sorted(felt[cause_id].values(), key=lambda row: (row["well"], -row["took_ns"], row["start_ns"]))
        who = {"title": _titled(title(cause, brokers)), "radius": radius(cause)}
        who["since_ns"] = min((row["since_ns"] for row in worst_first), default=cause["start_ns"])
        told.append({**cause, **who, "n_felt": len(worst_first), "felt": [_as_row(r) for r in worst_first[:MOST_FELT]]})
    return sorted(told, key=lambda cause: (cause["since_ns"], cause["cause_id"]))


def _titled(name: str) -> str:
    """An error's name, where the cause has no better title, with what it means."""
    return f"{_MEANINGS[name]} ({name})" if name in _MEANINGS else name


def _feel(of_cause: dict[str, Row], row: Row) -> None:
    """Adds an episode to what its client felt of the cause."""
    since, start, end = felt_ns(row), row["start_ns"] or 0, row["recovered_ns"]
    known = of_cause.setdefault(
        row["client_instance_id"],
        {"client_instance_id": row["client_instance_id"], "start_ns": start, "recovered_ns": end, "well": True}
        | {"since_ns": since}
        | {"n_episodes": 0, "n_errors": 0, "took_ns": -1, "outcomes": {}, "worst": "", "resource": ""},
    )
    known["n_episodes"] += 1
    known["n_errors"] += row["n_errors"] or 0
    known["start_ns"] = min(known["start_ns"], start)
    known["since_ns"] = min(known["since_ns"], since)
    known["recovered_ns"] = max(known["recovered_ns"] or 0, end or 0) or None
    known["well"] = known["well"] and row["outcome"] not in NOT_WELL
    outcome = row["outcome"] or "still_open"
    known["outcomes"][outcome] = known["outcomes"].get(outcome, 0) + 1
    took = (end - since) if end is not None else 2**62
    if took > known["took_ns"]:
        known |= {"took_ns": took, "worst": row["recovery_id"], "resource": row["resource"]}


def _as_row(felt: Row) -> Row:
    took = felt.pop("took_ns")
    return {**felt, "took_us": None if took >= 2**62 else took // 1000}


def _brokers(dataset: Dataset) -> set[str]:
    found = rows(dataset, CLIENTS, ["client_instance_id", "kind"], one_of("kind", ["broker"]))
    return {row["client_instance_id"] for row in found}


def _without_ts(table: Any) -> list[str]:
    return [c.name for c in table.columns if not c.name.endswith("_ts") and c.name != "ts"]
