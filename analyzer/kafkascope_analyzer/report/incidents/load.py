"""Reads what the summary of a report is made from: incidents, stalls, findings, clients and failed starts."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, FINDINGS, INCIDENTS, STALLS, STARTUPS
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table, one_of, rows
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS
from kafkascope_analyzer.report.incidents.preconditions import missing_tables, why_no_kafka
from kafkascope_analyzer.report.proofs import Proof, load_proofs

Row = dict[str, Any]

FAILED = ("failed", "gave_up")
"""Outcomes of starts that did not become ready."""
_CLIENT = ["client_instance_id", "client_id", "client_ip", "kind", "group_id"]
_STARTUP = ["startup_id", "client_instance_id", "outcome", "failed_step", "error_name", "start_ns"]


@dataclass(frozen=True, slots=True)
class Facts:
    """Rows as the dataset has them, in a stable order, and the names and proofs that they refer to."""

    has_stories: bool
    has_incidents: bool
    has_findings: bool
    incidents: list[Row]
    stalls: list[Row]
    findings: list[Row]
    clients: dict[str, Row]
    failed_starts: list[Row]
    nodes_of_connections: dict[str, int]
    proofs: dict[str, Proof]
    start_ns: int
    end_ns: int
    n_files: int
    stall_ms: int
    """From which length on a wait is a stall."""
    no_kafka: str | None
    """Why no Kafka was read; None where some was."""
    missing: tuple[str, ...]
    """Tables that the report needs and the dataset lacks."""

    def name(self, client_instance_id: str | None) -> str:
        """The client's client id, else its address, else its own id."""
        client = self.clients.get(client_instance_id or "", {})
        return client.get("client_id") or client.get("client_ip") or client_instance_id or "unknown client"


def load_facts(dataset: Dataset) -> Facts:
    """Everything at once. Raises UsageError where a table cannot be read."""
    start_ns, end_ns = capture_span(dataset)
    clients = {row["client_instance_id"]: row for row in rows(dataset, CLIENTS, _CLIENT)}
    incidents = sorted(_rows(dataset, INCIDENTS), key=lambda row: (row["start_ns"] or 0, row["incident_id"]))
    stalls = sorted(_rows(dataset, STALLS), key=lambda row: (row["from_ns"] or 0, row["stall_id"]))
    findings = _rows(dataset, FINDINGS)
    return Facts(
        has_stories=has_table(dataset, CLIENTS),
        has_incidents=has_table(dataset, INCIDENTS) and has_table(dataset, STALLS),
        has_findings=has_table(dataset, FINDINGS),
        incidents=incidents,
        stalls=stalls,
        findings=findings,
        clients=clients,
        failed_starts=_failed_starts(dataset, clients),
        nodes_of_connections=_nodes(dataset, findings) if incidents else {},
        proofs=load_proofs(dataset, [row["evidence"] for row in (*incidents, *findings)]),
        start_ns=start_ns,
        end_ns=end_ns,
        n_files=sum(1 for _ in rows(dataset, CAPTURES, ["capture_id"])),
        stall_ms=dataset.stall_ms,
        no_kafka=why_no_kafka(dataset),
        missing=missing_tables(dataset),
    )


def _rows(dataset: Dataset, table: Any) -> list[Row]:
    return list(rows(dataset, table, [c.name for c in table.columns if not c.name.endswith("_ts")]))


def _failed_starts(dataset: Dataset, clients: dict[str, Row]) -> list[Row]:
    """Starts of clients, without the brokers' own, that did not become ready, by time."""
    found = rows(dataset, STARTUPS, _STARTUP, one_of("outcome", list(FAILED)))
    kept = [row for row in found if clients.get(row["client_instance_id"], {}).get("kind") != "broker"]
    return sorted(kept, key=lambda row: (row["start_ns"] or 0, row["startup_id"]))


def _nodes(dataset: Dataset, findings: list[Row]) -> dict[str, int]:
    """conn_id -> broker, of the connections that findings are about."""
    wanted = sorted({conn for row in findings for conn in row["conn_ids"] or ()})
    found = rows(dataset, CONNECTIONS, ["conn_id", "node_id"], one_of("conn_id", wanted))
    return {row["conn_id"]: row["node_id"] for row in found if row["node_id"] is not None}


def stalls_by_incident(facts: Facts) -> dict[str | None, list[Row]]:
    """incident_id -> its stalls; under None those whose incident is not in the dataset."""
    known = {row["incident_id"] for row in facts.incidents}
    found: dict[str | None, list[Row]] = defaultdict(list)
    for stall in facts.stalls:
        found[stall["incident_id"] if stall["incident_id"] in known else None].append(stall)
    return found
