"""Each client instance: what it is, the jobs of its connections, how it started and how it recovered.

Reads the story tables for a bounded number of clients; those in trouble come first when there are too many. Brokers
that talk to brokers are summed up, not listed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import (
    CADENCES,
    CLIENTS,
    RECOVERIES,
    RECOVERY_STEP_ROWS,
    STARTUP_STEP_ROWS,
    STARTUPS,
)
from kafkascope_analyzer.dataset.table_rows import has_table, one_of, rows
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ROLE_ROWS
from kafkascope_analyzer.report.recovery_outcomes import NOT_RECOVERED
from kafkascope_analyzer.report.slowest_steps import slowest
from kafkascope_analyzer.report.words import address

MOST_CLIENTS = 200
MOST_CONNECTIONS = 100
MOST_STARTS = 10
MOST_CAUSES = 25
MOST_LOOPS = 20
FIRST_STEPS, LAST_STEPS = 60, 20
MOST_NAMES = 5
"""Limits of report.json, so that a capture of a whole day still makes a report that a person can open; the tables
have everything.
"""

Row = dict[str, Any]


def clients(dataset: Dataset) -> Row:
    """Client instances by the time they were first seen, and one summary of the brokers among them."""
    if not has_table(dataset, CLIENTS):
        return {"present": False, "n": 0, "listed": [], "brokers": _brokers([])}
    everyone = list(rows(dataset, CLIENTS, [c.name for c in CLIENTS.columns if not c.name.endswith("_ts")]))
    troubled = _troubled(dataset)
    listed = [c for c in everyone if c["kind"] != "broker"]
    chosen = sorted(
        listed, key=lambda c: (-troubled[c["client_instance_id"]], c["first_ns"] or 0, c["client_instance_id"])
    )[:MOST_CLIENTS]
    chosen.sort(key=lambda c: (c["first_ns"] or 0, c["client_instance_id"]))
    ids = [c["client_instance_id"] for c in chosen]
    wires = _connections(dataset, chosen)
    starts, recoveries = _startups(dataset, ids), _recoveries(dataset, ids)
    loops = _odd_loops(dataset, ids)
    for client in chosen:
        identity = client["client_instance_id"]
        conn_ids = client.pop("conn_ids") or []
        client["n_connections"] = len(conn_ids)
        client["connections"] = [wires[c] for c in conn_ids[:MOST_CONNECTIONS] if c in wires]
        client["n_starts"], client["starts"] = len(starts[identity]), starts[identity][:MOST_STARTS]
        client["n_odd_loops"], client["odd_loops"] = len(loops[identity]), loops[identity][:MOST_LOOPS]
        client["n_causes"], client["recoveries"] = len(recoveries[identity]), recoveries[identity][:MOST_CAUSES]
    return {
        "present": True,
        "n": len(listed),
        "listed": chosen,
        "brokers": _brokers([c for c in everyone if c["kind"] == "broker"]),
    }


def _troubled(dataset: Dataset) -> Counter[str]:
    """Instances by how much there is to tell: episodes that did not end well, failed starts, other episodes."""
    found: Counter[str] = Counter()
    for row in rows(dataset, RECOVERIES, ["client_instance_id", "outcome"]):
        found[row["client_instance_id"]] += 100 if row["outcome"] in NOT_RECOVERED else 1
    for row in rows(dataset, STARTUPS, ["client_instance_id", "outcome"], one_of("outcome", ["failed", "gave_up"])):
        found[row["client_instance_id"]] += 50
    return found


def _brokers(instances: list[Row]) -> Row:
    ends = Counter(row["end"] or "unknown" for row in instances)
    return {
        "n": len(instances),
        "n_connections": sum(len(row["conn_ids"] or ()) for row in instances),
        "n_requests": sum(row["n_requests"] or 0 for row in instances),
        "n_errors": sum(row["n_errors"] or 0 for row in instances),
        "addresses": sorted({row["client_ip"] for row in instances if row["client_ip"]}),
        "ends": dict(sorted(ends.items())),
    }


def _connections(dataset: Dataset, chosen: list[Row]) -> dict[str, Row]:
    """The chosen clients' connections with their roles, by conn_id."""
    wanted = [c for client in chosen for c in (client["conn_ids"] or [])[:MOST_CONNECTIONS]]
    columns = [
        "conn_id",
        "client_ip",
        "client_port",
        "server_ip",
        "server_port",
        "node_id",
        "protocol",
        "first_ns",
        "last_ns",
        "close_kind",
    ]
    columns += ["n_requests", "n_errors", "primary_role", "sasl_mechanism", "tls_version"]
    found = {row["conn_id"]: row for row in rows(dataset, CONNECTIONS, columns, one_of("conn_id", wanted))}
    roles: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    jobs = ["conn_id", "role", "subject", "n_requests", "verdict", "first_ns"]
    for row in rows(dataset, ROLE_ROWS, jobs, one_of("conn_id", wanted)):
        roles[row["conn_id"]][row["role"]].append(row)
    for conn_id, row in found.items():
        row["client"] = address(row.pop("client_ip"), row.pop("client_port"))
        row["server"] = address(row.pop("server_ip"), row.pop("server_port"))
        row["roles"] = [_role(role, of_role) for role, of_role in sorted(roles[conn_id].items())]
        row["roles"].sort(key=lambda role: (role["first_ns"] or 0, role["role"]))
    return found


def _role(role: str, of_role: list[Row]) -> Row:
    subjects = sorted({row["subject"] for row in of_role if row["subject"]})
    verdicts = Counter(row["verdict"] or "claimed" for row in of_role)
    return {
        "role": role,
        "n_subjects": len(subjects),
        "subjects": subjects[:MOST_NAMES],
        "verdicts": dict(sorted(verdicts.items())),
        "n_requests": sum(row["n_requests"] or 0 for row in of_role),
        "first_ns": min((row["first_ns"] for row in of_role if row["first_ns"] is not None), default=None),
    }


def _without_ts(columns: Iterable[Any]) -> list[str]:
    return [c.name for c in columns if not c.name.endswith("_ts") and c.name != "ts"]


def _startups(dataset: Dataset, ids: list[str]) -> dict[str, list[Row]]:
    """Starts with their steps, by client instance."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows(dataset, STARTUPS, _without_ts(STARTUPS.columns), one_of("client_instance_id", ids)):
        found[row["client_instance_id"]].append(row)
    wanted = []
    for of_client in found.values():
        of_client.sort(key=lambda row: (row["start_no"] or 0, row["startup_id"]))
        wanted += [row["startup_id"] for row in of_client[:MOST_STARTS]]
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in rows(dataset, STARTUP_STEP_ROWS, _without_ts(STARTUP_STEP_ROWS.columns), one_of("startup_id", wanted)):
        steps[row["startup_id"]].append(row)
    for of_client in found.values():
        for start in of_client[:MOST_STARTS]:
            of_start = sorted(steps[start["startup_id"]], key=lambda row: row["seq"] or 0)
            start["slowest"] = slowest(of_start)
            start["n_steps"], start["steps"] = len(of_start), both_ends(of_start)
    return found


def both_ends(steps: list[Row]) -> list[Row]:
    """The steps, without the middle where they are too many: how it began and how it ended."""
    return steps if len(steps) <= FIRST_STEPS + LAST_STEPS else [*steps[:FIRST_STEPS], *steps[-LAST_STEPS:]]


def _odd_loops(dataset: Dataset, ids: list[str]) -> dict[str, list[Row]]:
    """Loops that are late or fast, by client instance."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows(dataset, CADENCES, _without_ts(CADENCES.columns), one_of("client_instance_id", ids)):
        if row["verdict"] in ("late", "fast"):
            found[row["client_instance_id"]].append(row)
    for of_client in found.values():
        of_client.sort(key=lambda row: (row["verdict"] != "late", row["cadence"], row["conn_id"] or ""))
    return found


def _recoveries(dataset: Dataset, ids: list[str]) -> dict[str, list[Row]]:
    """Episodes of one cause together, with the steps of the one that took longest, by client instance."""
    causes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows(dataset, RECOVERIES, _without_ts(RECOVERIES.columns), one_of("client_instance_id", ids)):
        causes[row["client_instance_id"], row["cause_id"] or row["recovery_id"]].append(row)
    found: dict[str, list[Row]] = defaultdict(list)
    for (identity, _), episodes in causes.items():
        found[identity].append(_cause(episodes))
    told = {}
    for of_client in found.values():
        of_client.sort(key=lambda cause: (cause["start_ns"] or 0, cause["told"]))
        told.update({cause["told"]: cause for cause in of_client[:MOST_CAUSES]})
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in rows(
        dataset, RECOVERY_STEP_ROWS, _without_ts(RECOVERY_STEP_ROWS.columns), one_of("recovery_id", list(told))
    ):
        steps[row["recovery_id"]].append(row)
    for recovery_id, cause in told.items():
        of_episode = sorted(steps[recovery_id], key=lambda row: row["seq"] or 0)
        cause["n_steps"], cause["steps"] = len(of_episode), both_ends(of_episode)
    return found


def worst_of_cause(episodes: list[Row]) -> Row:
    """The recovery that stands for all of one cause: one that did not end well, else the longest."""
    return max(
        episodes,
        key=lambda row: (row["outcome"] in NOT_RECOVERED, row["time_to_recover_ms"] or 0, row["n_errors"] or 0),
    )


def _cause(episodes: list[Row]) -> Row:
    """What a client's episodes of one cause have in common, and what the worst of them says."""
    episodes.sort(key=lambda row: (row["start_ns"] or 0, row["resource"] or "", row["recovery_id"]))
    worst = worst_of_cause(episodes)
    resources = sorted({row["resource"] for row in episodes if row["resource"]})
    outcomes = Counter(row["outcome"] or "still_open" for row in episodes)
    ended = [row["recovered_ns"] for row in episodes if row["recovered_ns"] is not None]
    return {
        "cause_id": worst["cause_id"],
        "told": worst["recovery_id"],
        "n_episodes": len(episodes),
        "resource_kind": worst["resource_kind"],
        "resource": worst["resource"],
        "n_resources": len(resources),
        "resources": resources[:MOST_NAMES],
        "first_error_name": episodes[0]["first_error_name"],
        "error_names": sorted({e for row in episodes for e in row["error_names"] or ()}),
        "n_errors": sum(row["n_errors"] or 0 for row in episodes),
        "n_wasted_requests": sum(row["n_wasted_requests"] or 0 for row in episodes),
        "storm": any(row["storm"] for row in episodes),
        "expected_reaction": worst["expected_reaction"],
        "reaction": worst["reaction"],
        "outcome": worst["outcome"],
        "outcomes": dict(sorted(outcomes.items())),
        "start_ns": episodes[0]["start_ns"],
        "recovered_ns": max(ended) if ended else None,
        "time_to_recover_ms": worst["time_to_recover_ms"],
        "old_node_id": worst["old_node_id"],
        "new_node_id": worst["new_node_id"],
        "evidence": (worst["evidence"] or [])[:MOST_NAMES],
    }
