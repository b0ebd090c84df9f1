"""Two captures of one application: which starts became slower, and in which step; and what else changed.

Clients are matched by what stays the same between runs: client id, kind, group and transactional id (numbers at the
end of a generated client id count for nothing). Of several of one name the middle one speaks for all. A step's time
is what it added to the critical path: duration and the wait before it.
"""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.compare_traffic import (
    NOTABLE_SHARE,
    NOTABLE_US,
    generic_name,
    traffic_changes,
)
from kafkascope_analyzer.report.model.starts import clients_of, starts_of
from kafkascope_analyzer.report.plain import plain

Row = dict[str, Any]
Key = tuple[str, str, str, str]


def comparison(before: Dataset, after: Dataset) -> Row:
    """The model of the comparison: matched starts, slowest change first, and who is in one of them only; latency,
    errors, versions and rebalances.
    """
    old, new = _by_key(before), _by_key(after)
    matched = [_matched(key, old[key], new[key]) for key in sorted(old.keys() & new.keys())]
    matched.sort(key=lambda row: (-(row["change_us"] or 0), row["client_id"], row["kind"]))
    return {
        "matched": matched,
        "n_slower": sum(row["verdict"] == "slower" for row in matched),
        "n_faster": sum(row["verdict"] == "faster" for row in matched),
        "only_before": [_named(key) for key in sorted(old.keys() - new.keys())],
        "only_after": [_named(key) for key in sorted(new.keys() - old.keys())],
        **plain(traffic_changes(before, after)),
    }


def _by_key(dataset: Dataset) -> dict[Key, list[Row]]:
    """Key -> first starts of the clients of that name."""
    clients = clients_of(dataset)
    starts = starts_of(dataset, [c["client_instance_id"] for c in clients])
    found: dict[Key, list[Row]] = defaultdict(list)
    for client in clients:
        firsts = [s for s in starts[client["client_instance_id"]] if s["start_no"] == 1 and s["outcome"] != "cut"]
        if firsts:
            found[_key(client)].append(firsts[0])
    return dict(found)


def _key(client: Row) -> Key:
    return (
        generic_name(client["client_id"] or ""),
        client["kind"],
        client["group_id"] or "",
        client["transactional_id"] or "",
    )


def _named(key: Key) -> Row:
    return dict(zip(("client_id", "kind", "group_id", "transactional_id"), key, strict=True))


def _matched(key: Key, old: list[Row], new: list[Row]) -> Row:
    a, b = _middle(old), _middle(new)
    us = [s["total_us"] for s in (a, b)]
    change = us[1] - us[0] if None not in us else None
    return {
        **_named(key),
        "n_before": len(old),
        "n_after": len(new),
        "outcome_before": a["outcome"],
        "outcome_after": b["outcome"],
        "before_us": us[0],
        "after_us": us[1],
        "change_us": change,
        "verdict": _verdict(a, b, change),
        "steps": _steps(a, b),
    }


def _middle(starts: list[Row]) -> Row:
    """The start of median total; those that did not get ready are the slowest."""
    ordered = sorted(starts, key=lambda s: (s["total_us"] is None, s["total_us"] or 0, s["startup_id"]))
    return ordered[(len(ordered) - 1) // 2]


def _verdict(a: Row, b: Row, change: int | None) -> str:
    if change is None:
        worse, better = a["outcome"] == "ready", b["outcome"] == "ready"
        return "broken" if worse else "recovered" if better else "same"
    if abs(change) < NOTABLE_US or abs(change) * NOTABLE_SHARE < a["total_us"]:
        return "same"
    return "slower" if change > 0 else "faster"


def _steps(a: Row, b: Row) -> list[Row]:
    """Steps by what they added to the total, largest change first: wait, broker, network and all, microseconds."""
    old, new = _shares(a), _shares(b)
    rows = []
    for name in sorted(old.keys() | new.keys()):
        x, y = old.get(name, (0, 0, 0)), new.get(name, (0, 0, 0))
        parts = {part: y[i] - x[i] for i, part in enumerate(("wait_us", "broker_us", "network_us"))}
        rows.append({"step": name, "before_us": sum(x), "after_us": sum(y), "change_us": sum(y) - sum(x), **parts})
    return sorted((r for r in rows if r["change_us"]), key=lambda r: (-abs(r["change_us"]), r["step"]))


def _shares(start: Row) -> dict[str, tuple[int, int, int]]:
    """Step -> wait, broker's and network's microseconds on the critical path."""
    found: dict[str, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for step in start["steps"]:
        if step["on_critical_path"]:
            wait, broker, network = found[step["step"]]
            own = step["broker_us"] or 0
            found[step["step"]] = wait + step["wait_us"], broker + own, network + step["duration_us"] - own
    return dict(found)
