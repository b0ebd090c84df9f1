"""Topics in words: the figures of each topic and reader, of its partitions and of its slices of time."""

from typing import Any

from kafkascope_analyzer.report.flow_figures import flow_figures
from kafkascope_analyzer.report.words import NS_PER_MS, count, node, safe, span

Row = dict[str, Any]

MOST_FLOWS = 60
"""Pairs of topic and reader that the page shows; report.json has more."""


def flow_texts(flow: Row) -> Row:
    """The section `flow` of report.json as the page shows it: the first MOST_FLOWS topics and readers, with figures in
    the order of the columns, and `more`: how many others there are.
    """
    listed = flow["listed"][:MOST_FLOWS]
    left = flow["n"] - len(listed)
    return {
        **{name: flow[name] for name in ("present", "why_not", "slice_length", "n")},
        "more": f"… and {count(left, 'topic and reader', 'topics and readers')} more (report.json)." if left else "",
        "listed": [_topic(row, flow["slice_ms"]) for row in listed],
    }


def _topic(row: Row, slice_ms: int) -> Row:
    topic, reader = safe(row["topic"]), safe(row["reader"])
    left = row["n_partitions"] - len(row["partitions"])
    return {
        "topic": topic,
        "reader": reader,
        "figures": flow_figures(row),
        "sentence": f"{reader} on {topic}: {row['note']}" if row["note"] else "",
        "lags": _lags(row, slice_ms),
        "heading": f"{topic}, read by {reader}: partitions and slices",
        "partitions": [_partition(one) for one in row["partitions"]],
        "more_partitions": f"… and {count(left, 'partition')} more (table partition_flow)." if left > 0 else "",
        "slices": [_slice(one) for one in row["over_time"]],
    }


def _lags(row: Row, slice_ms: int) -> list[Row]:
    """The slices at whose end the reader was behind; share: of the most that it was behind."""
    if not row["lag_max"]:
        return []
    behind = [one for one in row["over_time"] if one["lag"]]
    return [
        {
            "from_ns": one["ts_ns"],
            "to_ns": one["ts_ns"] + slice_ms * NS_PER_MS,
            "share": round(one["lag"] / row["lag_max"], 4),
        }
        for one in behind
    ]


def _partition(one: Row) -> list[str]:
    counts = [f"{one['n_records']:,}", f"{one['n_fetched']:,}"]
    lags = [_number(one["lag_max"]), one["lag_max_at"] or "", _number(one["lag_last"])]
    return [str(one["partition"]), node(one["leader_id"], None), *counts, *_p99(one), *lags]


def _slice(one: Row) -> list[str]:
    return [one["at"], f"{one['n_records']:,}", f"{one['n_fetched']:,}", *_p99(one), _number(one["lag"])]


def _p99(one: Row) -> list[str]:
    return [span(one["created_to_acked_p99_us"]), span(one["acked_to_fetched_p99_us"])]


def _number(n: int | None) -> str:
    return "" if n is None else f"{n:,}"
