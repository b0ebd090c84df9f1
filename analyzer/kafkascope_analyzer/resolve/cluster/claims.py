"""Between the passes: infers the jobs of encrypted connections to servers that speak Kafka from the lengths of TLS
records, and which of these connections belong to one client.

Their client ids are not known. Connections of one address whose hellos list the same cipher suites come from the same
client library with the same settings. Connections that send (produce) and those that read or coordinate (fetch,
coordinator) count as different clients, because most programs use separate clients for them. Several clients that are
equal in all of this count as one.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.claimed_jobs import CLAIMED, MEASURED_COLUMNS, NO_API, ClaimedJobs, claimed_apis
from kafkascope_analyzer.connections.dictionary import ServerEndpoints
from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS, CONSUMER_JOBS
from kafkascope_analyzer.scan.exchanges import BY_LENGTHS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.framing.layout import TLS
from kafkascope_parsers.tls.ja4 import suites_of

CLAIMS = pa.schema([("conn_id", pa.string()), ("client", pa.int64()), *CLAIMED])
"""One row per connection whose requests are known by lengths. client: a number, the same for connections that seem to
belong to one client; null without a job."""
_JA4 = "tls_ja4"


def gather_claims(connections: Mapping[Path, pa.Table], encrypted: Collection[Endpoint]) -> pa.Table:
    """Reads the spilled rows of all buckets. connections: with conn_id, client_ip, server_ip, server_port and protocol,
    by the directory of a bucket's spill; encrypted: the servers that speak Kafka over TLS that is not decrypted."""
    parts = [_of_bucket(spill, rows, encrypted) for spill, rows in connections.items()] if encrypted else []
    if not parts:
        return CLAIMS.empty_table()
    rows = pa.concat_tables(parts)
    columns = {name: rows[name] for name in ("conn_id", *CLAIMED.names)}
    return pa.table(columns | {"client": _client_numbers(rows)}, CLAIMS)


def _of_bucket(spill: Path, rows: pa.Table, encrypted: Collection[Endpoint]) -> pa.Table:
    ends = ServerEndpoints(rows)
    speaks = np.array([end in encrypted for end in ends.distinct], np.bool_)
    is_known = speaks[ends.which] & (rows["protocol"].to_numpy() == TLS)
    jobs = ClaimedJobs(rows.num_rows)
    for exchanges in read_spill(spill, BY_LENGTHS, MEASURED_COLUMNS):
        jobs.note(exchanges.filter(pa.array(is_known[exchanges["conn"].to_numpy()])))
    columns = {name: flat(rows[name]) for name in ("conn_id", "client_ip")}
    columns |= jobs.columns(slice(0, rows.num_rows), is_known) | {"suites": _suites(spill, rows.num_rows)}
    return pa.table(columns).filter(pa.array(is_known))


def _suites(spill: Path, n: int) -> pa.Array:
    """Returns the cipher suites in the hello of each connection, which identify its client's library."""
    found: list[str | None] = [None] * n
    for notes in read_spill(spill, "connection_notes"):
        notes = notes.filter(pc.equal(notes["what"], _JA4))
        for conn, text in zip(notes["conn"].to_pylist(), notes["text"].to_pylist(), strict=True):
            found[conn] = suites_of(text)
    return pa.array(found, pa.string())


def _client_numbers(rows: pa.Table) -> pa.Array:
    """Returns a number for each client, null for connections without a job."""
    texts = [flat(rows[name]).fill_null("").dictionary_encode() for name in ("client_ip", "suites")]
    host, suites = (text.indices.to_numpy().astype(np.int64) for text in texts)
    reads = np.asarray(pc.is_in(flat(rows["claimed_job"]), pa.array(sorted(CONSUMER_JOBS))))
    numbers = (host * max(len(texts[1].dictionary), 1) + suites) * 2 + reads
    return pa.array(np.unique(numbers, return_inverse=True)[1], mask=np.asarray(flat(rows["claimed_job"]).is_null()))


def job_codes(claims: pa.Table, conn_ids: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Returns the index in CLAIMED_JOBS of the job of each connection; below 0 for none."""
    jobs = pc.index_in(flat(claims["claimed_job"]), pa.array(CLAIMED_JOBS)).fill_null(-1)
    return _of(jobs, claims, conn_ids)


def client_codes(claims: pa.Table, conn_ids: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Returns the number of the client of each connection; below 0 for none."""
    return _of(flat(claims["client"]).fill_null(-1), claims, conn_ids)


def _of(values: pa.Array, claims: pa.Table, conn_ids: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    at = pc.index_in(flat(conn_ids), flat(claims["conn_id"]))
    return np.asarray(values.take(at).fill_null(-1).to_numpy()).astype(np.int64)


def with_claimed_apis(exchanges: pa.Table, jobs: NDArray[np.int64]) -> pa.Table:
    """Returns spilled rows of BY_LENGTHS with claimed_api_key: the API that each row seems to belong to, null for none.
    jobs: job_codes of the connections of the bucket."""
    apis = claimed_apis(exchanges, jobs[exchanges["conn"].to_numpy()])
    return exchanges.append_column("claimed_api_key", pa.array(apis, mask=apis == NO_API))


def only_claimed(exchanges: pa.Table) -> pa.Table:
    """Returns the rows of `with_claimed_apis` that seem to belong to an API, with that API in place of the
    unknown one."""
    found = exchanges.filter(exchanges["claimed_api_key"].is_valid())
    return found.set_column(found.schema.get_field_index("api_key"), "api_key", found["claimed_api_key"])
