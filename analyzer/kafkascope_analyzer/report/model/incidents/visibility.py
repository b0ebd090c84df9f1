"""Whether the capture shows enough of the clients to say that nothing failed: their messages may not decode, may be
encrypted, or may be missing."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import has_table, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, UNDECODED
from kafkascope_analyzer.report.formatting import count, percent, size
from kafkascope_analyzer.report.model.incidents.preconditions import KAFKA, TLS

_BYTES = ("client_bytes", "server_bytes", "tls_bytes", "undecoded_bytes", "missing_bytes")
_SEGMENTS = ("client_segments", "server_segments")
_COLUMNS = ["protocol", "server_ip", "close_kind", *_BYTES, *_SEGMENTS]
_NEVER_ACCEPTED = pa.array(["refused", "unanswered"])
"""Values of close_kind of refused connections: one direction has no segments because there was nothing to send."""
_CUT_OFF = ds.field("reason") == "connection_end"
"""Frames that the end of their connection cut off. Their type is known, and the receiver did not get them
whole either."""


@dataclass(slots=True)
class _Seen:
    """Totals over the connections that speak Kafka, or TLS with a server that others speak Kafka with."""

    n: int = 0
    n_encrypted: int = 0
    n_one_direction: int = 0
    stream_bytes: int = 0
    decoded_bytes: int = 0
    missing_bytes: int = 0


def why_in_doubt(dataset: Dataset) -> str | None:
    """Returns why the capture does not show whether clients were served, without a full stop; None where it shows
    enough."""
    if not has_table(dataset, CONNECTIONS):
        return None
    return "; ".join(_doubts(_seen(dataset))) or None


def _doubts(seen: _Seen) -> Iterator[str]:
    whole = seen.stream_bytes + seen.missing_bytes
    if 2 * seen.decoded_bytes < whole:
        missing = f", and {size(seen.missing_bytes)} are missing from the capture" if seen.missing_bytes else ""
        yield f"only {percent(seen.decoded_bytes, whole)} of {size(whole)} of the streams decoded{missing}"
    of = f"of {count(seen.n, 'connection')}"
    if seen.n_encrypted:
        yield f"{seen.n_encrypted:,} {of} to brokers are encrypted, and their keys are not known"
    if 2 * seen.n_one_direction > seen.n:
        yield f"{seen.n_one_direction:,} {of} show one direction only"


def _seen(dataset: Dataset) -> _Seen:
    servers = _kafka_servers(dataset)
    seen = _Seen()
    for batch in scan(dataset, CONNECTIONS, _COLUMNS):
        encrypted = pc.and_(pc.equal(batch.column("protocol"), TLS), pc.is_in(batch.column("server_ip"), servers))
        _add(seen, batch.filter(pc.equal(batch.column("protocol"), KAFKA)))
        seen.n_encrypted += _add(seen, batch.filter(encrypted))
    if has_table(dataset, UNDECODED):
        seen.stream_bytes -= sum(_sum(batch, "bytes") for batch in scan(dataset, UNDECODED, ["bytes"], _CUT_OFF))
    return seen


def _kafka_servers(dataset: Dataset) -> pa.Array:
    """Returns the addresses of servers with Kafka connections, or with connections that the lengths of TLS records
    suggest to be Kafka."""
    found: set[str] = set()
    for batch in scan(dataset, CONNECTIONS, ["protocol", "server_ip", "claimed_requests"]):
        claimed = pc.greater(pc.fill_null(batch.column("claimed_requests"), 0), 0)
        kafka = batch.filter(pc.or_(pc.equal(batch.column("protocol"), KAFKA), claimed))
        found.update(address for address in pc.unique(kafka.column("server_ip")).to_pylist() if address)
    return pa.array(sorted(found), pa.string())


def _add(seen: _Seen, connections: pa.RecordBatch) -> int:
    """Adds connections to the totals; returns the number of connections added."""
    n: int = connections.num_rows
    from_client, from_server, tls, undecoded, missing = (_sum(connections, name) for name in _BYTES)
    silent_client, silent_server = (pc.equal(pc.fill_null(connections.column(name), 0), 0) for name in _SEGMENTS)
    accepted = pc.invert(pc.is_in(connections.column("close_kind"), _NEVER_ACCEPTED))
    seen.n += n
    seen.n_one_direction += pc.sum(pc.and_(pc.xor(silent_client, silent_server), accepted)).as_py() or 0
    seen.stream_bytes += from_client + from_server - tls
    seen.decoded_bytes += from_client + from_server - undecoded
    seen.missing_bytes += missing
    return n


def _sum(connections: pa.RecordBatch, column: str) -> int:
    total: int | None = pc.sum(connections.column(column)).as_py()
    return total or 0
