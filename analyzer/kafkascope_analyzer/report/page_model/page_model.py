"""The page's model of a dataset: the story, and the requests as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.kept_tables import kept
from kafkascope_analyzer.report.api_families import family_number
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.page_model.lanes import load_lanes
from kafkascope_analyzer.report.page_model.named_partitions import load_partitions
from kafkascope_analyzer.report.page_model.names import Names
from kafkascope_analyzer.report.page_model.request_columns import Requests, load_requests, packed
from kafkascope_analyzer.report.page_model.story import PageRequests, Story, load_story
from kafkascope_analyzer.report.page_model.thinning import BUDGET


@dataclass(frozen=True, slots=True)
class PageModel:
    """All data of the page. columns: the requests, and their topic-partitions, as arrays by name."""

    story: Story
    columns: Mapping[str, NDArray[Any]]


def page_model(dataset: Dataset, report: Report, budget: int = BUDGET) -> PageModel:
    """Returns the page's model. report: the result of report_model for the dataset; budget: most requests that the page
    may have. Raises UsageError where a table cannot be read.
    """
    dataset = kept(dataset)
    start_ns, end_ns = report.capture.begin_ns, report.capture.end_ns or 0
    lanes = load_lanes(dataset)
    conns = {row.conn_id: number for number, row in enumerate(lanes.connections)}
    requests, topics = load_requests(dataset, conns, (start_ns, end_ns), budget), Names()
    partitions = load_partitions(dataset, conns, requests.keys, (topics, requests.errors))
    unit_ns, columns = packed(requests, start_ns, end_ns)
    story = load_story(dataset, at_place(report, dataset.name), lanes, _requests(requests, topics, unit_ns))
    return PageModel(story, columns | partitions)


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
