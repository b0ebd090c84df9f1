"""All data of the page besides the requests' columns, as one dataclass."""

from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.api_families import FAMILIES
from kafkascope_analyzer.report.model.client_outcomes import client_outcomes
from kafkascope_analyzer.report.model.incidents.model import FIRST_WAITS
from kafkascope_analyzer.report.model.incidents.state_grid import state_grid
from kafkascope_analyzer.report.model.presence import Presence
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.page_model.bands import Band, bands_of
from kafkascope_analyzer.report.page_model.capture_texts import worded_capture
from kafkascope_analyzer.report.page_model.client_texts import with_client_texts
from kafkascope_analyzer.report.page_model.cluster_story import load_cluster
from kafkascope_analyzer.report.page_model.drawn.capture import PageCapture, PageDataQuality, PageErrors
from kafkascope_analyzer.report.page_model.drawn.clients import (
    PageEpisodes,
    PageLanes,
    PageRecovery,
    PageStallBand,
    PageStart,
    PageStarts,
)
from kafkascope_analyzer.report.page_model.drawn.cluster import (
    PageBrokerLane,
    PageCluster,
    PageClusterStory,
    PageRestarts,
)
from kafkascope_analyzer.report.page_model.drawn.groups import PageRebalances, PageTransactions
from kafkascope_analyzer.report.page_model.drawn.happened import (
    PageCommands,
    PageFindings,
    PageHeadline,
    PageIncidents,
    PageStateGrid,
)
from kafkascope_analyzer.report.page_model.drawn.load import (
    PageAllClientTraffic,
    PageBrokerLatency,
    PageLatencyOverTime,
    PageLeaders,
    PageRacks,
    PageRemovedVersions,
    PageRequestRates,
    PageSecurity,
    PageServiceLevels,
)
from kafkascope_analyzer.report.page_model.drawn.part import part_of, parts_of
from kafkascope_analyzer.report.page_model.evidence import (
    Evidence,
    load_evidence,
    named_by_clients,
    named_by_groups,
    proved_by,
)
from kafkascope_analyzer.report.page_model.flow_texts import PageFlow, flow_texts
from kafkascope_analyzer.report.page_model.lanes import Lanes
from kafkascope_analyzer.report.page_model.recovery_texts import causes_of, with_step_texts
from kafkascope_analyzer.report.page_model.starts_and_recoveries import (
    WordedRecovery,
    WordedStart,
    brokers_of,
    first_client,
    load_recoveries,
    load_starts,
)
from kafkascope_analyzer.report.page_model.story_lists import load_rebalances, load_transactions, placed_findings
from kafkascope_analyzer.report.page_model.waits import lanes_of_brokers, load_stalls


@dataclass(frozen=True, slots=True)
class PageFamily:
    """A family of APIs."""

    name: str
    title: str
    pattern: str


@dataclass(frozen=True, slots=True)
class PageRequests:
    """The meaning of the requests' columns, and the number of requests that they stand for."""

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
    """All data of the page besides the requests' columns."""

    headline: PageHeadline
    incidents: PageIncidents
    first_waits: int
    commands: PageCommands
    state_grid: PageStateGrid
    cluster: PageCluster
    errors: PageErrors
    unread: PageDataQuality
    stories: Presence
    request_rates: PageRequestRates
    latency: PageBrokerLatency
    latency_over_time: PageLatencyOverTime
    leaders: PageLeaders
    restarts: PageRestarts
    client_traffic: PageAllClientTraffic
    removed_versions: PageRemovedVersions
    service_levels: PageServiceLevels
    racks: PageRacks
    security: PageSecurity
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
    topology: PageClusterStory
    broker_lanes: tuple[PageBrokerLane, ...]
    stalls: tuple[PageStallBand, ...]
    capture: PageCapture
    lanes: PageLanes
    requests: PageRequests


def load_story(dataset: Dataset, model: Report, lanes: Lanes, requests: PageRequests) -> Story:
    """Loads the story of a dataset. Raises UsageError where a table cannot be read."""
    start_ns, end_ns = model.capture.begin_ns, model.capture.end_ns or 0
    brokers, stalls = brokers_of(dataset), load_stalls(dataset)
    starts, found = load_starts(dataset, brokers, start_ns), load_recoveries(dataset, start_ns)
    lanes = _with_words(dataset, lanes, model, starts, found)
    names = {client.client_instance_id: client.name for client in lanes.clients}
    rebalances = load_rebalances(dataset, model.rebalances.groups)
    transactions = load_transactions(dataset, names, model.transactions.outcomes)
    named = named_by_groups(transactions.listed, rebalances.listed), named_by_clients(found, starts)
    evidence = load_evidence(dataset, [*proved_by(model), *named[0], *named[1]])
    recoveries = with_step_texts(found, evidence, {row.conn_id: row.node_id for row in lanes.connections})
    return Story(
        headline=part_of(PageHeadline, model.headline),
        incidents=part_of(PageIncidents, model.incidents),
        first_waits=FIRST_WAITS,
        commands=part_of(PageCommands, model.commands),
        state_grid=part_of(PageStateGrid, state_grid(dataset, start_ns, end_ns)),
        cluster=part_of(PageCluster, model.cluster),
        errors=part_of(PageErrors, model.errors),
        unread=part_of(PageDataQuality, model.unread),
        stories=model.stories,
        request_rates=part_of(PageRequestRates, model.request_rates),
        latency=part_of(PageBrokerLatency, model.latency),
        latency_over_time=part_of(PageLatencyOverTime, model.latency_over_time),
        leaders=part_of(PageLeaders, model.leaders),
        restarts=part_of(PageRestarts, model.restarts),
        client_traffic=part_of(PageAllClientTraffic, model.client_traffic),
        removed_versions=part_of(PageRemovedVersions, model.removed_versions),
        service_levels=part_of(PageServiceLevels, model.service_levels),
        racks=part_of(PageRacks, model.racks),
        security=part_of(PageSecurity, model.security),
        starts=PageStarts(parts_of(PageStart, starts)),
        episodes=PageEpisodes(parts_of(PageRecovery, recoveries), causes_of(recoveries, start_ns)),
        rebalances=part_of(PageRebalances, rebalances),
        transactions=part_of(PageTransactions, transactions),
        flow=flow_texts(model.flow),
        findings=part_of(PageFindings, placed_findings(model.findings)),
        bands=bands_of(starts, recoveries, end_ns),
        first_client=first_client(starts, recoveries, stalls, brokers),
        families=tuple(PageFamily(one.name, one.title, one.pattern) for one in FAMILIES),
        evidence=evidence,
        topology=part_of(PageClusterStory, load_cluster(dataset)),
        broker_lanes=parts_of(PageBrokerLane, lanes_of_brokers(dataset, start_ns, end_ns)),
        stalls=parts_of(PageStallBand, stalls),
        capture=part_of(PageCapture, worded_capture(model, dataset.name)),
        lanes=part_of(PageLanes, lanes),
        requests=requests,
    )


def _with_words(
    dataset: Dataset,
    lanes: Lanes,
    model: Report,
    starts: tuple[WordedStart, ...],
    recoveries: tuple[WordedRecovery, ...],
) -> Lanes:
    """Returns the lanes with the words of their clients."""
    outcomes = client_outcomes(dataset)
    return replace(lanes, clients=with_client_texts(lanes, starts, recoveries, outcomes, model.capture.begin_ns))
