"""What the page shows besides the requests' columns, as one dataclass."""

from dataclasses import dataclass, replace
from pathlib import Path

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.api_families import FAMILIES
from kafkascope_analyzer.report.model.apis import Api, Errors
from kafkascope_analyzer.report.model.broker_latency import BrokerLatency
from kafkascope_analyzer.report.model.capture import Capture, Connections
from kafkascope_analyzer.report.model.client_outcomes import client_outcomes
from kafkascope_analyzer.report.model.client_traffic import AllClientTraffic
from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.data_quality import DataQuality
from kafkascope_analyzer.report.model.incidents.model import Headline, Incidents
from kafkascope_analyzer.report.model.leader_load import Leaders
from kafkascope_analyzer.report.model.presence import Presence
from kafkascope_analyzer.report.model.removed_versions import RemovedVersions
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.model.request_rates import RequestRates
from kafkascope_analyzer.report.model.restarts import Restarts
from kafkascope_analyzer.report.page_model.bands import Band, bands_of
from kafkascope_analyzer.report.page_model.capture_texts import capture_facts, unread_texts
from kafkascope_analyzer.report.page_model.client_texts import with_client_texts
from kafkascope_analyzer.report.page_model.cluster_story import ClusterStory, load_cluster
from kafkascope_analyzer.report.page_model.evidence import (
    Evidence,
    load_evidence,
    named_by_clients,
    named_by_groups,
    proved_by,
)
from kafkascope_analyzer.report.page_model.flow_texts import PageFlow, flow_texts
from kafkascope_analyzer.report.page_model.lanes import Lanes
from kafkascope_analyzer.report.page_model.recovery_texts import PageCause, causes_of, with_step_texts
from kafkascope_analyzer.report.page_model.starts_and_recoveries import (
    PageRecovery,
    PageStarts,
    brokers_of,
    first_client,
    load_recoveries,
    load_starts,
)
from kafkascope_analyzer.report.page_model.story_lists import (
    PageFindings,
    PageRebalances,
    PageTransactions,
    load_rebalances,
    load_transactions,
    page_findings,
)
from kafkascope_analyzer.report.page_model.waits import PageBrokerLane, StallBand, lanes_of_brokers, load_stalls
from kafkascope_analyzer.report.plain import arguments_of


@dataclass(frozen=True, slots=True)
class PageCapture(Capture):
    """The capture with its words. origin: the time that all others are counted from."""

    title: str
    facts: tuple[str, ...]
    unread: tuple[str, ...]
    dataset: str
    origin: str


@dataclass(frozen=True, slots=True)
class PageFamily:
    """A family of APIs."""

    name: str
    title: str
    pattern: str


@dataclass(frozen=True, slots=True)
class PageEpisodes:
    """Recoveries by time, and those of one cause together."""

    n: int
    listed: tuple[PageRecovery, ...]
    causes: tuple[PageCause, ...]


@dataclass(frozen=True, slots=True)
class PageRequests:
    """What the columns of the requests mean, and how many requests they stand for."""

    n: int
    n_kept: int
    n_unplaced: int
    stretches: dict[str, int]
    unit: int
    apis: tuple[str, ...]
    families: tuple[int, ...]
    errors: tuple[str, ...]
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]
    client_ids: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the page shows."""

    headline: Headline
    incidents: Incidents
    connections: Connections
    cluster: Cluster
    apis: tuple[Api, ...]
    errors: Errors
    unread: DataQuality
    stories: Presence
    request_rates: RequestRates
    latency: BrokerLatency
    leaders: Leaders
    restarts: Restarts
    client_traffic: AllClientTraffic
    removed_versions: RemovedVersions
    starts: PageStarts
    episodes: PageEpisodes
    rebalances: PageRebalances
    transactions: PageTransactions
    flow: PageFlow
    findings: PageFindings
    bands: tuple[Band, ...]
    first_client: str
    families: tuple[PageFamily, ...]
    evidence: dict[str, Evidence]
    topology: ClusterStory
    broker_lanes: tuple[PageBrokerLane, ...]
    stalls: tuple[StallBand, ...]
    capture: PageCapture
    lanes: Lanes
    requests: PageRequests


def load_story(dataset: Dataset, model: Report, lanes: Lanes, requests: PageRequests) -> Story:
    """The story of a dataset. Raises UsageError where a table cannot be read."""
    start_ns, end_ns = model.capture.begin_ns, model.capture.end_ns or 0
    brokers, stalls = brokers_of(dataset), load_stalls(dataset)
    starts, found = load_starts(dataset, brokers, start_ns), load_recoveries(dataset, start_ns)
    lanes = _with_words(dataset, lanes, model, starts, found.listed)
    names = {client.client_instance_id: client.name for client in lanes.clients}
    rebalances = load_rebalances(dataset, model.rebalances.groups)
    transactions = load_transactions(dataset, names, model.transactions.outcomes)
    named = named_by_groups(transactions.listed, rebalances.listed), named_by_clients(found.listed, starts.listed)
    evidence = load_evidence(dataset, [*proved_by(model), *named[0], *named[1]])
    recoveries = with_step_texts(found.listed, evidence, {row.conn_id: row.node_id for row in lanes.connections})
    return Story(
        headline=model.headline,
        incidents=model.incidents,
        connections=model.connections,
        cluster=model.cluster,
        apis=model.apis,
        errors=model.errors,
        unread=model.unread,
        stories=model.stories,
        request_rates=model.request_rates,
        latency=model.latency,
        leaders=model.leaders,
        restarts=model.restarts,
        client_traffic=model.client_traffic,
        removed_versions=model.removed_versions,
        starts=starts,
        episodes=PageEpisodes(found.n, recoveries, causes_of(recoveries, start_ns)),
        rebalances=rebalances,
        transactions=transactions,
        flow=flow_texts(model.flow),
        findings=page_findings(model.findings),
        bands=bands_of(starts.listed, recoveries, end_ns),
        first_client=first_client(starts.listed, recoveries, stalls, brokers),
        families=tuple(PageFamily(one.name, one.title, one.pattern) for one in FAMILIES),
        evidence=evidence,
        topology=load_cluster(dataset),
        broker_lanes=lanes_of_brokers(dataset, start_ns, end_ns),
        stalls=stalls,
        capture=_capture(dataset, model, requests.n),
        lanes=lanes,
        requests=requests,
    )


def _with_words(
    dataset: Dataset, lanes: Lanes, model: Report, starts: PageStarts, recoveries: tuple[PageRecovery, ...]
) -> Lanes:
    """The lanes with the words of their clients."""
    outcomes = client_outcomes(dataset)
    return replace(lanes, clients=with_client_texts(lanes, starts.listed, recoveries, outcomes, model.capture.begin_ns))


def _capture(dataset: Dataset, model: Report, n_requests: int) -> PageCapture:
    """The capture; of its files' paths only the names: a report is shown to others."""
    files = tuple(replace(file, path=Path(file.path or "").name) for file in model.capture.files)
    capture = replace(model.capture, files=files)
    return PageCapture(
        **arguments_of(capture),
        title=_title(capture, dataset),
        facts=capture_facts(model, n_requests),
        unread=unread_texts(model, capture),
        dataset=dataset.name,
        origin=str(capture.begin_ns),
    )


def _title(capture: Capture, dataset: Dataset) -> str:
    """The capture's name: its file's, and where it has several, or none with a name, the dataset's."""
    names = [file.path or "" for file in capture.files]
    return names[0] if len(names) == 1 and names[0].strip("-") else dataset.name.removesuffix(".kscope")
