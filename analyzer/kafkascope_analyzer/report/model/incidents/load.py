"""Reads the input of a report's summary: incidents, stalls, findings, clients and failed starts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table, one_of, scan
from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.report.model.client_names import NamedClient
from kafkascope_analyzer.report.model.incidents.preconditions import missing_tables, why_no_kafka
from kafkascope_analyzer.report.model.incidents.visibility import why_in_doubt
from kafkascope_analyzer.report.model.proofs import Proof, load_proofs
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.findings.table import FindingRow
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import NOT_READY, StartupRow
from kafkascope_spark.stories.tables import CLIENTS, INCIDENTS, STALLS


@dataclass(frozen=True, slots=True)
class Facts:
    """Rows as the dataset has them, in a stable order, and the names and proofs that they refer to."""

    has_stories: bool
    has_incidents: bool
    incidents: list[IncidentRow]
    stalls: list[Stall]
    findings: list[FindingRow]
    clients: dict[str, NamedClient]
    failed_starts: list[StartupRow]
    proofs: dict[str, Proof]
    start_ns: int
    end_ns: int
    n_files: int
    stall_ms: int
    """Shortest wait that counts as a stall, in milliseconds."""
    no_kafka: str | None
    """Why no Kafka was read; None where some was."""
    doubt: str | None
    """Why the capture does not show whether clients were served; None where it does, and where no Kafka was read."""
    missing: tuple[str, ...]
    """Tables that the report needs and that the dataset lacks."""
    restriction: Restriction | None
    outside: Mapping[str, frozenset[str]]
    """incident_id -> the affected clients, without the brokers' own, that the restriction excludes."""

    def name(self, client_instance_id: str | None) -> str:
        """The client's client id, else its address, else its own id."""
        client = self.clients.get(client_instance_id or "")
        return (client.name if client else None) or client_instance_id or "unknown client"

    @property
    def n_clients(self) -> int:
        """Number of clients without the brokers' own."""
        return sum(client.kind != "broker" for client in self.clients.values())

    def is_broker(self, client_instance_id: str) -> bool:
        """Whether the client is inside a broker."""
        return _is_broker(self.clients.get(client_instance_id))


def load_facts(dataset: Dataset) -> Facts:
    """Reads all facts. Raises UsageError where a table cannot be read."""
    start_ns, end_ns = capture_span(dataset)
    clients = {row.client_instance_id: row for row in read(dataset, NamedClient)}
    every_incident = sorted(read(dataset, IncidentRow), key=lambda row: (row.start_ns, row.incident_id))
    incidents = [replace(row, clients=tuple(filter(clients.__contains__, row.clients))) for row in every_incident]
    stalls = sorted(read(dataset, Stall), key=lambda row: (row.from_ns, row.stall_id))
    findings = list(read(dataset, FindingRow))
    no_kafka = why_no_kafka(dataset)
    return Facts(
        has_stories=has_table(dataset, CLIENTS),
        has_incidents=has_table(dataset, INCIDENTS) and has_table(dataset, STALLS),
        incidents=incidents,
        stalls=stalls,
        findings=findings,
        clients=clients,
        failed_starts=_failed_starts(dataset, clients, every_incident),
        proofs=load_proofs(
            dataset.unrestricted, [*(row.evidence for row in incidents), *(row.evidence for row in findings)]
        ),
        start_ns=start_ns,
        end_ns=end_ns,
        n_files=sum(batch.num_rows for batch in scan(dataset, CAPTURES, ["capture_id"])),
        stall_ms=dataset.stall_ms,
        no_kafka=no_kafka,
        doubt=None if no_kafka else why_in_doubt(dataset),
        missing=missing_tables(dataset),
        restriction=dataset.restriction,
        outside=_outside(dataset, every_incident, clients),
    )


def _outside(
    dataset: Dataset, incidents: Iterable[IncidentRow], clients: Mapping[str, NamedClient]
) -> dict[str, frozenset[str]]:
    """Returns the affected clients that the restriction excludes, by incident_id. clients: the clients that it
    includes."""
    if dataset.restriction is None:
        return {}
    left_out = sorted({client for row in incidents for client in row.clients if client not in clients})
    found = read(dataset.unrestricted, NamedClient, one_of("client_instance_id", left_out))
    others = {client.client_instance_id for client in found if not _is_broker(client)}
    return {row.incident_id: frozenset(others.intersection(row.clients)) for row in incidents}


_WITH_OTHER_ADDRESSES = names_of(lambda kind: kind.has_other_addresses)
"""Kinds of incidents at one of several addresses of a host name."""


def _failed_starts(
    dataset: Dataset, clients: dict[str, NamedClient], incidents: Iterable[IncidentRow]
) -> list[StartupRow]:
    """Returns starts of clients, without the brokers' own, that did not become ready, by time. An attempt to connect to
    one of several addresses of a name is not a start: the host went on to the next address."""
    passed = {row.incident_id for row in incidents if row.kind in _WITH_OTHER_ADDRESSES}
    found = read(dataset, StartupRow, one_of("outcome", sorted(NOT_READY)))
    kept = [
        row for row in found if not _is_broker(clients.get(row.client_instance_id)) and row.incident_id not in passed
    ]
    return sorted(kept, key=lambda row: (row.start_ns, row.startup_id))


def _is_broker(client: NamedClient | None) -> bool:
    return client is not None and client.kind == "broker"


def stalls_by_incident(facts: Facts) -> dict[str | None, list[Stall]]:
    """Returns incident_id -> its stalls; under None the stalls whose incident is not in the dataset."""
    known = {row.incident_id for row in facts.incidents}
    found: dict[str | None, list[Stall]] = defaultdict(list)
    for stall in facts.stalls:
        found[stall.incident_id if stall.incident_id in known else None].append(stall)
    return found
