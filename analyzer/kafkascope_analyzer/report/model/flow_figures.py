"""The figures of topics and their readers, as every form of the report shows them."""

from kafkascope_analyzer.report.formatting import span
from kafkascope_analyzer.report.model.flow import TopicFlow

FLOW_FIGURES = ("records", "acked p50", "p99", "fetched p50", "p99", "lag", "at end", "commit lag", "at end")
"""Titles of the columns, after topic and reader."""
FLOW_LEGEND = (
    "acked: from the creation of a record to its acknowledgment; fetched: from the acknowledgment to the first fetch; "
    "lag: records not fetched yet, at most and at the end; commit lag: records not committed yet, as "
    "kafka-consumer-groups.sh counts them"
)


def flow_figures(row: TopicFlow) -> list[str]:
    """Returns the figures of a topic and reader, in the order of FLOW_FIGURES."""
    times = [row.created_to_acked_p50_us, row.created_to_acked_p99_us]
    times += [row.acked_to_fetched_p50_us, row.acked_to_fetched_p99_us]
    lags = (row.lag_max, row.lag_last, row.commit_lag_max, row.commit_lag_last)
    return [f"{row.n_records:,}", *map(span, times), *map(records, lags)]


def records(n: int | None) -> str:
    """Returns a number of records as text; empty where it is not known."""
    return "" if n is None else f"{n:,}"
