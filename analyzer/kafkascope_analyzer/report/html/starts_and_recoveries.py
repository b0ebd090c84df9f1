"""Starts and recoveries with their steps and their words, as many as a page can hold.

Clients in trouble come first where there is more than a page can hold; `n_*` beside a list counts all.
"""

from collections import Counter, defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES, RECOVERY_STEP_ROWS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.report.clients import both_ends
from kafkascope_analyzer.report.html.recovery_texts import add_recovery_texts, causes_of
from kafkascope_analyzer.report.html.start_texts import add_start_texts
from kafkascope_analyzer.report.recovery_outcomes import NOT_RECOVERED, affected_since
from kafkascope_analyzer.report.words import outcome_text, start_text

MOST_STARTS = 2_000
MOST_STARTS_WITH_STEPS = 400
MOST_EPISODES = 5_000
MOST_EPISODES_WITH_STEPS = 600
NEVER_MS = 1_000_000_000
"""What a recovery counts that did not end well: more than any other."""

Row = dict[str, Any]


def load_starts(dataset: Dataset, start_ns: int) -> Row:
    """The starts by time, those that went wrong or took longest where there are too many, brokers' own last."""
    brokers = brokers_of(dataset)
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
        row["outcome_text"] = start_text(row["outcome"])
        add_start_texts(row, mine, start_ns)
    chosen.sort(key=lambda row: (row["start_ns"] or 0, row["startup_id"]))
    return {"n": len(everyone), "listed": chosen}


def load_episodes(dataset: Dataset, start_ns: int) -> Row:
    """The recoveries by time, those that did not end well or took longest where there are too many."""
    everyone = list(rows(dataset, RECOVERIES, _without_ts(RECOVERIES)))

    def weight(row: Row) -> tuple[bool, int, int, str]:
        return (
            row["outcome"] not in NOT_RECOVERED,
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
        row["since_ns"] = affected_since(row)
        row["outcome_text"] = outcome_text(row["outcome"])
        add_recovery_texts(row, start_ns)
    chosen.sort(key=lambda row: (row["start_ns"] or 0, row["recovery_id"]))
    return {"n": len(everyone), "listed": chosen, "causes": causes_of(chosen, start_ns)}


def first_client(starts: Row, recoveries: Row, brokers: set[str]) -> str:
    """The client that the page opens first: that which recovered longest in all, else that of the first start."""
    lost: Counter[str] = Counter()
    for row in recoveries["listed"]:
        if row["client_instance_id"] not in brokers:
            took_ms = row["time_to_recover_ms"] or 0
            lost[row["client_instance_id"]] += NEVER_MS if row["outcome"] in NOT_RECOVERED else took_ms
    if lost:
        return min(lost, key=lambda identity: (-lost[identity], identity))
    return str(starts["listed"][0]["client_instance_id"]) if starts["listed"] else ""


def brokers_of(dataset: Dataset) -> set[str]:
    """The clients inside brokers."""
    found = rows(dataset, CLIENTS, ["client_instance_id", "kind"], one_of("kind", ["broker"]))
    return {row["client_instance_id"] for row in found}


def _without_ts(table: Any) -> list[str]:
    return [c.name for c in table.columns if not c.name.endswith("_ts") and c.name != "ts"]
