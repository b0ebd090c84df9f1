"""Proofs of sentences of the report: requests with their latency and packet numbers, or whole connections.

Packet numbers are those of the capture files, counted from 1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.formatting import count, span
from kafkascope_analyzer.report.rows import read

MOST_PROOFS = 20
"""Most proofs of one sentence in report.json; the story tables have all."""
MOST_PACKETS = 6


@dataclass(frozen=True, slots=True)
class Proof:
    """A request, or a connection, that proves a sentence."""

    id: Annotated[str, "request id, or conn_id of a connection"]
    api_name: Annotated[str | None, "API of the request; null for a connection"]
    error_name: Annotated[str | None, "worst error of its response"]
    ts_ns: Annotated[int | None, "first byte of the request"]
    capture_id: Annotated[int | None, "number of the file in capture.files, from 0"]
    packets: Annotated[tuple[int, ...], "packets of request and response, counted from 1"]
    latency_us: Annotated[int | None, "last byte of the request to first byte of the response"]
    took: Annotated[str, "the latency in words: 27.0 s, or that there was no response"]
    node_id: Annotated[int | None, "broker"]
    server_port: Annotated[int | None, "port of the broker"]


@dataclass(frozen=True, slots=True)
class ProvingRequest(Row):
    """The columns of a request that a proof shows."""

    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    api_name: str | None
    error_name: str | None
    ts_ns: int | None
    latency_us: int | None
    status: str | None
    capture_id: int | None
    node_id: int | None
    request_packet_no: int | None
    response_packet_no: int | None
    server_port: int | None


def load_proofs(dataset: Dataset, evidence: Iterable[Sequence[str] | None]) -> dict[str, Proof]:
    """Loads request_id -> the request, for the first MOST_PROOFS ids of each list."""
    ids = sorted({identity for listed in evidence for identity in (listed or ())[:MOST_PROOFS]})
    return {row.request_id: _proof(row) for row in read(dataset, ProvingRequest, one_of("request_id", ids))}


def _proof(row: ProvingRequest) -> Proof:
    packets = (row.request_packet_no, row.response_packet_no)
    return Proof(
        id=row.request_id,
        api_name=row.api_name,
        error_name=row.error_name,
        ts_ns=row.ts_ns,
        capture_id=row.capture_id,
        packets=tuple(number for number in packets if number is not None),
        latency_us=row.latency_us,
        took=latency_text(row.status, row.latency_us),
        node_id=row.node_id,
        server_port=row.server_port,
    )


_TOOK = {"unanswered": "no answer", "no_response_expected": "no answer expected"}
_TOOK |= {"not_captured": "answer not in the capture"}
"""Text in place of the latency of requests without a response, by their status."""


def latency_text(status: str | None, latency_us: int | None) -> str:
    """Returns how long a request's response took, or why there is none."""
    if latency_us is not None:
        return span(latency_us)
    return _TOOK.get(status or "", "not known")


def proofs_of(evidence: Sequence[str] | None, known: dict[str, Proof]) -> tuple[Proof, ...]:
    """Returns the first MOST_PROOFS proofs; an id that is no request is a connection's."""
    return tuple(known.get(identity) or _connection(identity) for identity in (evidence or ())[:MOST_PROOFS])


def _connection(conn_id: str) -> Proof:
    return Proof(conn_id, None, None, None, None, (), None, "", None, None)


def packets_text(proofs: Iterable[Proof], n_evidence: int, n_connections: int, n_files: int) -> str:
    """Returns the packets by number: `packets 12, 15, 17 … and 3 more`. With several files: `0:12`, with the number of
    the file first, as `kafkascope cut --packets` takes it. Where no packet is known: the number of connections that
    show it.
    """
    listed = list(proofs)
    found = sorted({(proof.capture_id or 0, number) for proof in listed for number in proof.packets})
    if not found:
        return f"seen on {count(n_connections, 'connection')}" if n_connections else ""
    numbers = [f"{file}:{number}" if n_files > 1 else str(number) for file, number in found]
    left = len(numbers) - MOST_PACKETS
    some = f" … and {left:,} more" if left > 0 else ""
    of = f" ({n_evidence:,} requests prove it)" if n_evidence > len(listed) else ""
    return f"packet{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:MOST_PACKETS])}{some}{of}"
