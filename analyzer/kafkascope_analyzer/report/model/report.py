"""The dataclass of `report.json`: the whole report on a dataset. The schema of report.json is made from it.

The same dataset gives the same bytes: no wall clock, no paths but the names that the user gave. Times are nanoseconds
since the epoch (`*_ns`) and durations microseconds (`*_us`), as in the tables.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.kept_tables import kept
from kafkascope_analyzer.report.model import clients, rebalances, transactions
from kafkascope_analyzer.report.model.broker_latency import BrokerLatency, broker_latency
from kafkascope_analyzer.report.model.client_traffic import AllClientTraffic, client_traffic
from kafkascope_analyzer.report.model.failed_sections import SECTION, empty, failed_rows, sections
from kafkascope_analyzer.report.model.findings import MOST_FINDINGS, Findings, counted
from kafkascope_analyzer.report.model.flow import Flow, flow
from kafkascope_analyzer.report.model.incidents.headline import with_failures
from kafkascope_analyzer.report.model.incidents.model import Commands, Headline, Incidents, Summary
from kafkascope_analyzer.report.model.incidents.summary import Overview, load_overview, summary_of
from kafkascope_analyzer.report.model.latency_over_time import LatencyOverTime, latency_over_time
from kafkascope_analyzer.report.model.leader_load import Leaders, leader_load
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.model.racks import Racks, racks
from kafkascope_analyzer.report.model.removed_versions import RemovedVersions, removed_versions
from kafkascope_analyzer.report.model.request_rates import RequestRates, request_rates
from kafkascope_analyzer.report.model.restarts import Restarts
from kafkascope_analyzer.report.model.restricted import with_restriction
from kafkascope_analyzer.report.model.security import Security, security
from kafkascope_analyzer.report.model.service_levels import ServiceLevels, service_levels
from kafkascope_analyzer.report.model.traffic import Traffic, report_tables, traffic_of
from kafkascope_analyzer.report.plain import arguments_of
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS


@dataclass(frozen=True, slots=True)
class Report(Traffic):
    """The report of kafkascope on a dataset."""

    stories: Annotated[Presence, "whether Spark's stories are in the dataset"]
    headline: Annotated[Headline, "the headline of the report"]
    incidents: Annotated[Incidents, "what failed, the clients that stalled because of it, and the consequences"]
    findings: Annotated[Findings, "what is wrong, what to change, and the proof"]
    commands: Annotated[Commands, "commands to read on, from the worst incident or finding"]
    clients: Annotated[
        clients.Clients, "client instances: their kinds, their connections, how they started and recovered"
    ]
    restarts: Annotated[
        Restarts, "restarts of brokers, possibly with another release, and how long clients waited because of them"
    ]
    rebalances: Annotated[rebalances.Rebalances, "generations and group epochs"]
    transactions: Annotated[transactions.Transactions, "transactions of each transactional id"]
    flow: Annotated[Flow, "records passing through topics: end-to-end latency and lag, by time slice"]
    request_rates: Annotated[RequestRates, "requests a second and their latency over the capture, by family of APIs"]
    latency: Annotated[BrokerLatency, "how fast each broker answered each API"]
    latency_over_time: Annotated[LatencyOverTime, "how fast each broker answered clients over the capture"]
    leaders: Annotated[Leaders, "how evenly partition leaders share the load"]
    client_traffic: Annotated[AllClientTraffic, "how each client (address and client id) sends and fetches"]
    removed_versions: Annotated[RemovedVersions, "clients that use API versions that Kafka 4.0 removed (KIP-896)"]
    service_levels: Annotated[ServiceLevels, "availability, latency and lag by topic and group"]
    racks: Annotated[Racks, "bytes between racks, and consumers that read outside of their own"]
    security: Annotated[Security, "how clients connect and authenticate, and operations that were denied"]


def report_model(dataset: Dataset) -> Report:
    """Returns the whole report; a section that cannot be made because of a defect is empty, and is named in
    failed_parts. Raises UsageError where a table cannot be read."""
    dataset, failed = kept(dataset), FailedParts()
    with report_tables(dataset) as database:
        traffic = traffic_of(database, failed)
        overview = failed.value(SECTION, "incidents", None, lambda: load_overview(dataset))
        summary = _summary(overview, traffic.errors.n, failed)
        made_by = {
            "findings": lambda: _findings(dataset, summary),
            "clients": lambda: clients.clients(dataset),
            "restarts": lambda: empty(Restarts) if overview is None else overview.restarts,
            "rebalances": lambda: rebalances.rebalances(dataset),
            "transactions": lambda: transactions.transactions(database),
            "flow": lambda: flow(database),
            "request_rates": lambda: request_rates(database),
            "latency": lambda: broker_latency(database),
            "latency_over_time": lambda: latency_over_time(database),
            "leaders": lambda: leader_load(database),
            "client_traffic": lambda: client_traffic(database),
            "removed_versions": lambda: removed_versions(database),
            "service_levels": lambda: service_levels(database),
            "racks": lambda: racks(database),
            "security": lambda: security(database),
        }
        made = sections(failed, Report, made_by)
        database.counts.keep()
    rows = failed_rows([*dataset.manifest.failed_parts, *failed.taken()])
    return Report(
        **{**arguments_of(traffic), "failed_parts": rows},
        stories=_present(presence(dataset, CLIENTS), summary),
        headline=with_restriction(with_failures(summary.headline, rows), traffic.capture.restricted_to),
        incidents=summary.incidents,
        commands=summary.commands,
        **made,
    )


def _summary(overview: Overview | None, n_errors: int, failed: FailedParts) -> Summary:
    """Returns the summary; an empty one where it cannot be made."""
    made = overview and failed.value(SECTION, "incidents", None, lambda: summary_of(overview, n_errors))
    return made or empty(Summary)


def _present(here: Presence, summary: Summary) -> Presence:
    """Returns whether the contents of a table are there; they are absent, with the reason, where no Kafka was read."""
    return Presence(present=False, why_not=summary.headline.sentence) if summary.no_kafka else here


def _findings(dataset: Dataset, summary: Summary) -> Findings:
    here, found = _present(presence(dataset, FINDINGS), summary), summary.findings
    return Findings(
        **arguments_of(here),
        n=len(found),
        by_severity=counted(found),
        listed=found[:MOST_FINDINGS],
    )
