"""The requests that findings, episodes and starts name as their proof, with their APIs and packet numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.model.proofs import latency_text
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.rows import read

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.unread_partitions import Rebalance
    from kafkascope_analyzer.report.page_model.starts_and_recoveries import WordedRecovery, WordedStart
    from kafkascope_analyzer.report.page_model.story_lists import WordedTransaction

MOST_REQUESTS = 30_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """A request; took: its latency in words."""

    api_name: str | None
    api_version: int | None
    ts_ns: int
    error_name: str | None
    status: str
    node_id: int | None
    request_packet_no: int | None
    response_packet_no: int | None
    took: str


@dataclass(frozen=True, slots=True)
class _Request(Row):
    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    api_name: str | None
    api_version: int | None
    ts_ns: int
    latency_us: int | None
    error_code: int
    error_name: str | None
    status: str
    node_id: int | None
    request_packet_no: int | None
    response_packet_no: int | None


def load_evidence(dataset: Dataset, named: Iterable[str | None]) -> dict[str, Evidence]:
    """Loads request_id -> the request, for the ids that are requests."""
    wanted = list(dict.fromkeys(name for name in named if name))[:MOST_REQUESTS]
    found = {row.request_id: _evidence(row) for row in read(dataset, _Request, one_of("request_id", wanted))}
    return {name: found[name] for name in wanted if name in found}


def _evidence(row: _Request) -> Evidence:
    return Evidence(
        api_name=row.api_name,
        api_version=row.api_version,
        ts_ns=row.ts_ns,
        error_name=row.error_name if row.error_code else None,
        status=row.status,
        node_id=row.node_id,
        request_packet_no=row.request_packet_no,
        response_packet_no=row.response_packet_no,
        took=latency_text(row.status, row.latency_us),
    )


def named_by_groups(transactions: "Iterable[WordedTransaction]", rebalances: "Iterable[Rebalance]") -> Iterator[str]:
    """Yields the ids of the proofs of transactions and rebalances."""
    for transaction in transactions:
        yield from transaction.evidence
    for rebalance in rebalances:
        yield from rebalance.evidence


def named_by_clients(recoveries: "Iterable[WordedRecovery]", starts: "Iterable[WordedStart]") -> Iterator[str | None]:
    """Yields the ids of the proofs of recoveries and starts."""
    for recovery in recoveries:
        yield from recovery.evidence or ()
        yield from (step.request_id for step in recovery.steps)
    for start in starts:
        yield from (name for step in start.steps for name in step.request_ids or ())


def proved_by(model: Report) -> Iterator[str]:
    """Yields the ids of the proofs of incidents and findings."""
    for incident in (*model.incidents.listed, *model.incidents.routine):
        yield from (proof.id for proof in incident.evidence)
    for finding in model.findings.listed:
        yield from (proof.id for proof in finding.evidence)
