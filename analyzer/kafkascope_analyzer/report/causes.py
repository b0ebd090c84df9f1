"""What broke in the capture: the episodes of one cause together, over all clients, with its blast radius.

A cause's kind is read from the errors that its episodes began with; a lost broker outweighs the moves that follow
from it. Brokers that felt it are counted apart from clients.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES
from kafkascope_analyzer.report.scan import rows

MOST_CAUSES = 50
MOST_NAMES = 10
"""Limits of report.json; the table recoveries has everything."""

Row = dict[str, Any]

NOT_WELL = ("still_open", "gave_up", "fatal", "wrong_reaction")
_KINDS = (
    (
        "broker_lost",
        (
            *("CONNECTION_REFUSED", "CONNECTION_UNANSWERED", "CONNECTION_RESET", "CONNECTION_CLOSED"),
            *("REQUEST_UNANSWERED", "RESPONSE_LATE"),
        ),
    ),
    ("leader_moved", ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")),
    ("coordinator_moved", ("NOT_COORDINATOR",)),
    ("coordinator_not_ready", ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")),
    ("no_leader", ("LEADER_NOT_AVAILABLE", "UNKNOWN_LEADER_EPOCH", "NOT_ENOUGH_REPLICAS")),
    ("authentication_failed", ("SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "AUTHENTICATION_CLOSED")),
    ("fenced", ("FENCED_INSTANCE_ID", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "UNRELEASED_INSTANCE_ID")),
    ("membership_lost", ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH")),
    ("offset_reset", ("OFFSET_OUT_OF_RANGE",)),
    ("transaction_ending", ("CONCURRENT_TRANSACTIONS",)),
    ("throttled", ("THROTTLED",)),
)
"""Kinds of cause by first errors, the weightiest first; then access_denied and other."""

_COLUMNS = ["cause_id", "recovery_id", "client_instance_id", "resource_kind", "resource", "first_error_name", "outcome"]
_COLUMNS += ["error_names", "n_errors", "n_wasted_requests", "storm", "start_ns", "recovered_ns", "time_to_recover_ms"]
_COLUMNS += ["old_node_id", "new_node_id", "failing_ns"]
SILENT = ("REQUEST_UNANSWERED", "RESPONSE_LATE", "CONNECTION_UNANSWERED")
"""First errors that were felt before they were noticed: from the request, or SYN, that stayed without an answer."""


@dataclass(slots=True)
class _Cause:
    """What is counted of one."""

    cause_id: str
    start_ns: int
    end_ns: int
    worst: Row
    n_episodes: int = 0
    n_errors: int = 0
    n_wasted: int = 0
    storm: bool = False
    first_errors: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    nodes: Counter[int] = field(default_factory=Counter)
    new_nodes: Counter[int] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)


def causes(dataset: Dataset, only: str | None = None) -> Row:
    """The causes by time, those that hit most where there are too many; `only`: one of them."""
    found: dict[str, _Cause] = {}
    names = ["client_instance_id", "client_id", "client_ip", "kind"]
    who = {row["client_instance_id"]: row for row in rows(dataset, CLIENTS, names)}
    for row in rows(dataset, RECOVERIES, _COLUMNS):
        cause_id = row["cause_id"] or row["recovery_id"]
        if only is None or cause_id == only:
            row["of_broker"] = who.get(row["client_instance_id"], {}).get("kind") == "broker"
            _add(found, cause_id, row)
    chosen = sorted(found.values(), key=lambda cause: (-_weight(cause), cause.start_ns, cause.cause_id))[:MOST_CAUSES]
    listed = [_told(cause, who) for cause in sorted(chosen, key=lambda cause: (cause.start_ns, cause.cause_id))]
    return {"n": len(found), "listed": listed}


def _weight(cause: _Cause) -> int:
    unwell = sum(cause.outcomes[outcome] for outcome in NOT_WELL)
    return 1_000 * len(cause.clients) + 100 * unwell + cause.n_episodes


def felt_ns(row: Row) -> int:
    """Since when an episode's client did not get on: the first error, or what that error left without an answer."""
    start: int = row["start_ns"] or 0
    return min(start, row["failing_ns"] or start) if row["first_error_name"] in SILENT else start


def _add(found: dict[str, _Cause], cause_id: str, row: Row) -> None:
    start = row["start_ns"] or 0
    cause = found.get(cause_id)
    if cause is None:
        cause = found[cause_id] = _Cause(cause_id, start, start, row)
    cause.start_ns = min(cause.start_ns, felt_ns(row))
    cause.end_ns = max(cause.end_ns, row["recovered_ns"] or start)
    if _badness(row) > _badness(cause.worst):
        cause.worst = row
    cause.n_episodes += 1
    cause.n_errors += row["n_errors"] or 0
    cause.n_wasted += row["n_wasted_requests"] or 0
    cause.storm = cause.storm or bool(row["storm"])
    cause.first_errors[row["first_error_name"] or "UNKNOWN"] += 1
    cause.errors.update(row["error_names"] or ())
    cause.outcomes[row["outcome"] or "still_open"] += 1
    cause.kinds[row["resource_kind"] or "connection"] += 1
    if row["old_node_id"] is not None:
        cause.nodes[row["old_node_id"]] += 1
    if row["new_node_id"] is not None and row["new_node_id"] != row["old_node_id"]:
        cause.new_nodes[row["new_node_id"]] += 1
    cause.clients[row["client_instance_id"]] += 1


def _badness(row: Row) -> tuple[bool, bool, int, int]:
    """The order in which episodes stand for their cause: clients' before brokers', what did not end well first."""
    took = row["time_to_recover_ms"] or 0
    return not row["of_broker"], row["outcome"] in NOT_WELL, took, row["n_errors"] or 0


def kind_of(first_errors: Counter[str]) -> str:
    """The kind of a cause whose episodes began with these errors."""
    for kind, names in _KINDS:
        if any(name in first_errors for name in names):
            return kind
    return "access_denied" if any("AUTHORIZATION" in name for name in first_errors) else "other"


def _told(cause: _Cause, who: dict[str, Row]) -> Row:
    brokers = [i for i in cause.clients if who.get(i, {}).get("kind") == "broker"]
    mine = Counter({i: n for i, n in cause.clients.items() if i not in set(brokers)})
    worst = cause.worst
    return {
        "cause_id": cause.cause_id,
        "kind": kind_of(cause.first_errors),
        "node_id": _commonest(cause.nodes),
        "new_node_ids": sorted(cause.new_nodes)[:MOST_NAMES],
        "start_ns": cause.start_ns,
        "end_ns": cause.end_ns,
        "n_clients": len(mine),
        "n_brokers": len(brokers),
        "clients": [_name(who.get(i, {}), i, n) for i, n in _by_count(mine)],
        "n_episodes": cause.n_episodes,
        "by_resource_kind": dict(sorted(cause.kinds.items())),
        "errors": dict(sorted(cause.errors.items())),
        "outcomes": dict(sorted(cause.outcomes.items())),
        "n_errors": cause.n_errors,
        "n_wasted_requests": cause.n_wasted,
        "storm": cause.storm,
        "worst": {
            "recovery_id": worst["recovery_id"],
            "client_id": who.get(worst["client_instance_id"], {}).get("client_id"),
            "resource": worst["resource"],
            "outcome": worst["outcome"],
            "time_to_recover_ms": worst["time_to_recover_ms"],
        },
    }


def _commonest(nodes: Counter[int]) -> int | None:
    return min(nodes, key=lambda node: (-nodes[node], node)) if nodes else None


def _by_count(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST_NAMES]


def _name(client: Row, identity: str, n: int) -> Row:
    return {
        "client_instance_id": identity,
        "client_id": client.get("client_id"),
        "client_ip": client.get("client_ip"),
        "n_episodes": n,
    }
