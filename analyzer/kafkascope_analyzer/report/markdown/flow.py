"""The part of the Markdown report about topics: end-to-end latency and lag, for each group that reads them."""

from collections.abc import Iterator

from kafkascope_analyzer.report.markdown.text import code, more, prose, table
from kafkascope_analyzer.report.model.flow import Flow
from kafkascope_analyzer.report.model.flow_figures import FLOW_FIGURES, FLOW_LEGEND, flow_figures

MOST_TOPICS = 20


def markdown_flow(found: Flow) -> Iterator[str]:
    """Yields a row for each topic and reader, and below them the readers that fell behind."""
    if not found.n:
        return
    yield from ("", "## Topics: latency from end to end, and lag", "")
    columns = (("topic", ""), ("read by", ""), *((name, "r") for name in FLOW_FIGURES))
    listed = found.listed[:MOST_TOPICS]
    yield from table(columns, ((code(row.topic), code(row.reader), *flow_figures(row)) for row in listed))
    yield from more(found.n - len(listed), "topic and reader", "topics and readers")
    yield from ("", f"{FLOW_LEGEND}.")
    notes = [row for row in listed if row.note]
    if notes:
        yield ""
    for row in notes:
        yield f"- {code(row.reader)} on {code(row.topic)}: {prose(row.note or '')}"
