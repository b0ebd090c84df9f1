"""Makes the HTML report of a dataset and writes it, whole or not at all."""

import os
from pathlib import Path

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.api_families import family_number
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.formatting import LONGEST_PROSE, safe, visible
from kafkascope_analyzer.report.html.embedded_data import packed_columns, packed_json, shown
from kafkascope_analyzer.report.html.lanes import load_lanes
from kafkascope_analyzer.report.html.named_partitions import load_partitions
from kafkascope_analyzer.report.html.names import Names
from kafkascope_analyzer.report.html.page import page
from kafkascope_analyzer.report.html.request_columns import Requests, load_requests, packed
from kafkascope_analyzer.report.html.story import PageRequests, load_story
from kafkascope_analyzer.report.html.thinning import BUDGET
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.plain import plain

MOST_BRIEF = 50


def write_html(dataset: Dataset, model: Report, place: Path, budget: int = BUDGET) -> None:
    """Writes the report on a dataset as one HTML file.

    model: what report_model gave for it; budget: requests that the page may have. The same dataset gives the same
    bytes. Raises UsageError where a table cannot be read, OSError where the file cannot be written.
    """
    text = render_html(dataset, model, budget)
    beside = place.with_name(f".{place.name}.partial")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


def render_html(dataset: Dataset, model: Report, budget: int = BUDGET) -> str:
    """The file's text."""
    start_ns, end_ns = model.capture.begin_ns, model.capture.end_ns or 0
    lanes = load_lanes(dataset)
    conns = {row.conn_id: number for number, row in enumerate(lanes.connections)}
    requests, topics = load_requests(dataset, conns, (start_ns, end_ns), budget), Names()
    partitions = load_partitions(dataset, conns, requests.keys, (topics, requests.errors))
    unit_ns, columns = packed(requests, start_ns, end_ns)
    story = load_story(dataset, at_place(model, dataset.name), lanes, _requests(requests, topics, unit_ns))
    brief = [visible(sentence[:LONGEST_PROSE]) for sentence in brief_of(model)]
    values = shown(plain(story), start_ns)
    return page(safe(story.capture.title), brief, packed_json(values), packed_columns(columns | partitions))


def _requests(requests: Requests, topics: Names, unit_ns: int) -> PageRequests:
    return PageRequests(
        n=requests.n_seen + requests.n_unplaced,
        n_kept=len(requests.columns["ts"]),
        n_unplaced=requests.n_unplaced,
        stretches=requests.stretches,
        unit=unit_ns,
        apis=tuple(requests.apis.listed),
        families=tuple(family_number(name) for name in requests.apis.listed),
        errors=tuple(requests.errors.listed),
        groups=tuple(requests.groups.listed),
        transactional_ids=tuple(requests.transactional_ids.listed),
        client_ids=tuple(requests.client_ids.listed),
        topics=tuple(topics.listed),
    )


def brief_of(model: Report) -> list[str]:
    """The report in a few sentences, for readers without scripts."""
    said = [model.headline.sentence, *model.headline.details]
    said += [f"{row.severity}: {row.title}, {row.when}" for row in model.incidents.listed]
    said += [f"{row.severity}: {row.sentence}" for row in model.findings.listed]
    return said[:MOST_BRIEF]
