"""The figures of topics and their readers, as every form of the report shows them."""

from typing import Any

from kafkascope_analyzer.report.words import span

Model = dict[str, Any]

FLOW_FIGURES = ("records", "acked p50", "p99", "fetched p50", "p99", "lag", "at end")
"""Titles of the columns, after topic and reader."""
FLOW_LEGEND = (
    "acked: from the creation of a record to its acknowledgment; fetched: from the acknowledgment to the first fetch; "
    "lag: records behind, at most and at the end"
)


def flow_figures(row: Model) -> list[str]:
    """The figures of a topic and reader, in the order of FLOW_FIGURES."""
    names = ("created_to_acked_p50_us", "created_to_acked_p99_us", "acked_to_fetched_p50_us", "acked_to_fetched_p99_us")
    lags = ("" if row[name] is None else f"{row[name]:,}" for name in ("lag_max", "lag_last"))
    return [f"{row['n_records']:,}", *(span(row[name]) for name in names), *lags]
