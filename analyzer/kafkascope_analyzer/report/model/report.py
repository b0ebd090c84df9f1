"""`report.json`: everything that is shown of a dataset, as one dataclass, from which its schema is made.

The same dataset gives the same bytes: no wall clock, no paths but the names that the user gave. Times are nanoseconds
since the epoch (`*_ns`) and durations microseconds (`*_us`), as in the tables.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import REPORT_FILE
from kafkascope_analyzer.dataset.stories import CLIENTS, FINDINGS, TRANSACTIONS
from kafkascope_analyzer.dataset.tables import (
    CAPTURES,
    CONNECTIONS,
    ERRORS,
    RECORD_BATCHES,
    REQUESTS,
    ROLE_ROWS,
    TCP_EVENTS,
    TOPOLOGY,
    UNDECODED,
)
from kafkascope_analyzer.report.model import clients, rebalances, transactions, unread
from kafkascope_analyzer.report.model.apis import Api, Errors, apis, errors
from kafkascope_analyzer.report.model.broker_latency import BrokerLatency, broker_latency
from kafkascope_analyzer.report.model.capture import Capture, Connections, capture, connections
from kafkascope_analyzer.report.model.client_traffic import AllClientTraffic, client_traffic
from kafkascope_analyzer.report.model.cluster import Cluster, cluster
from kafkascope_analyzer.report.model.findings import MOST_FINDINGS, Findings, counted
from kafkascope_analyzer.report.model.flow import Flow, flow
from kafkascope_analyzer.report.model.incidents.model import Headline, Incidents, Summary
from kafkascope_analyzer.report.model.incidents.summary import load_overview, summary_of
from kafkascope_analyzer.report.model.leader_load import Leaders, leader_load
from kafkascope_analyzer.report.model.ledger import FullLedger, full_ledger
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.model.removed_versions import RemovedVersions, removed_versions
from kafkascope_analyzer.report.model.request_rates import RequestRates, request_rates
from kafkascope_analyzer.report.model.restarts import Restarts, restarts_of
from kafkascope_analyzer.report.plain import to_json
from kafkascope_analyzer.sql.database import Database

REPORT_VERSION = 1
_TABLES = [CAPTURES, CONNECTIONS, ERRORS, RECORD_BATCHES, REQUESTS, ROLE_ROWS, TCP_EVENTS, TOPOLOGY, UNDECODED]
_TABLES += [TRANSACTIONS]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the tables of `ingest` show."""

    report_version: Annotated[int, "1; it changes when a key changes its meaning or goes"]
    capture: Annotated[Capture, "what was read"]
    connections: Annotated[Connections, "how many TCP connections, what they speak, how they began and ended"]
    cluster: Annotated[Cluster, "the brokers"]
    apis: Annotated[tuple[Api, ...], "each API that was asked for, the most frequent first"]
    errors: Annotated[Errors, "error codes in the brokers' responses"]
    unread: Annotated[unread.Unread, "what the capture could not show"]


@dataclass(frozen=True, slots=True)
class Info(Traffic):
    """What `kafkascope info` shows of a dataset."""

    ledger: Annotated[FullLedger, "where every byte went"]


@dataclass(frozen=True, slots=True)
class Report(Traffic):
    """What a dataset of kafkascope shows."""

    stories: Annotated[Presence, "whether Spark's stories are in the dataset"]
    headline: Annotated[Headline, "what the report says first"]
    incidents: Annotated[Incidents, "what failed, who stood still because of it, and what followed"]
    findings: Annotated[Findings, "what is wrong, what to change, and the proof"]
    clients: Annotated[
        clients.Clients, "client instances: what they are, where they connect, how they started and recovered"
    ]
    restarts: Annotated[
        Restarts, "brokers that went down or came back with another release, and what that cost clients"
    ]
    rebalances: Annotated[rebalances.Rebalances, "generations and group epochs"]
    transactions: Annotated[transactions.Transactions, "transactions of each transactional id"]
    flow: Annotated[Flow, "how records passed through topics: latency from end to end and lag, over slices of time"]
    request_rates: Annotated[RequestRates, "requests a second and their latency over the capture, by family of APIs"]
    latency: Annotated[BrokerLatency, "how fast each broker answered each API"]
    leaders: Annotated[Leaders, "how evenly partition leaders share the load"]
    client_traffic: Annotated[AllClientTraffic, "how each client (address and client id) sends and fetches"]
    removed_versions: Annotated[RemovedVersions, "who uses API versions that Kafka 4.0 removed (KIP-896)"]


def report_tables(dataset: Dataset) -> Database:
    """The tables that sections of the report are queries over, to be closed."""
    return Database(dataset, tables=_TABLES)


def traffic_model(dataset: Dataset) -> Traffic:
    """The part of the report that comes from the tables of `ingest`. Raises UsageError where a table cannot be read."""
    with report_tables(dataset) as database:
        return _traffic(database)


def info_model(dataset: Dataset) -> Info:
    """The same with the byte ledger in full."""
    with report_tables(dataset) as database:
        traffic = _traffic(database)
        return Info(
            report_version=traffic.report_version,
            capture=traffic.capture,
            connections=traffic.connections,
            cluster=traffic.cluster,
            apis=traffic.apis,
            errors=traffic.errors,
            unread=traffic.unread,
            ledger=full_ledger(database),
        )


def report_model(dataset: Dataset) -> Report:
    """The whole report. Raises UsageError where a table cannot be read."""
    with report_tables(dataset) as database:
        traffic = _traffic(database)
        overview = load_overview(dataset)
        summary = summary_of(overview, traffic.errors.n)
        return Report(
            report_version=traffic.report_version,
            capture=traffic.capture,
            connections=traffic.connections,
            cluster=traffic.cluster,
            apis=traffic.apis,
            errors=traffic.errors,
            unread=traffic.unread,
            stories=presence(dataset, CLIENTS),
            headline=summary.headline,
            incidents=summary.incidents,
            findings=_findings(dataset, summary),
            clients=clients.clients(dataset, summary.stood_still),
            restarts=restarts_of(dataset, overview.facts, overview.families),
            rebalances=rebalances.rebalances(dataset),
            transactions=transactions.transactions(database),
            flow=flow(dataset),
            request_rates=request_rates(database),
            latency=broker_latency(database),
            leaders=leader_load(database),
            client_traffic=client_traffic(database),
            removed_versions=removed_versions(database),
        )


def _traffic(database: Database) -> Traffic:
    return Traffic(
        report_version=REPORT_VERSION,
        capture=capture(database),
        connections=connections(database),
        cluster=cluster(database),
        apis=apis(database),
        errors=errors(database),
        unread=unread.unread(database),
    )


def _findings(dataset: Dataset, summary: Summary) -> Findings:
    """The findings; not present where no Kafka was read: then no rule had anything to judge."""
    here, found = presence(dataset, FINDINGS), summary.findings
    return Findings(
        present=here.present and not summary.no_kafka,
        why_not=summary.headline.sentence if summary.no_kafka else here.why_not,
        n=len(found),
        by_severity=counted(found),
        listed=found[:MOST_FINDINGS],
    )


def write_report(dataset: Dataset, model: Report) -> None:
    """Writes the model as report.json beside the tables, whole or not at all. Raises UsageError."""
    dataset.write_text(REPORT_FILE, to_json(model))
