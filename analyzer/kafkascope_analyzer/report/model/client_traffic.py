"""Produce and Fetch traffic of each client: records per request, batch sizes, acks, compression, empty fetches.

A client is an address and a client id here, so that no stories are needed. A Produce request carries one batch per
partition (Kafka 0.11 and later), so its bytes divided by its partitions are the batch size. Compression is known where
batches were read (`--record-batches`).
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.rows import grouped, select
from kafkascope_analyzer.sql.database import Database
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH

MOST_CLIENTS = 200


@dataclass(frozen=True, slots=True)
class ProduceTraffic:
    """Produce requests of a client."""

    n: Annotated[int, "requests"]
    n_records: Annotated[int, "records"]
    record_bytes: Annotated[int, "bytes of record batches"]
    records_a_request: Annotated[float | None, "records per request"]
    bytes_a_request: Annotated[int | None, "bytes of record batches per request"]
    bytes_a_batch: Annotated[int | None, "bytes per batch: there is one per partition and request"]
    acks: Annotated[dict[str, int], "requests by acks"]
    codecs: Annotated[dict[str, int], "batches by compression"]


@dataclass(frozen=True, slots=True)
class FetchTraffic:
    """Fetch and ShareFetch requests of a client."""

    n: Annotated[int, "requests"]
    n_records: Annotated[int, "records"]
    record_bytes: Annotated[int, "bytes of record batches"]
    records_a_request: Annotated[float | None, "records per request"]
    bytes_a_request: Annotated[int | None, "bytes of record batches per request"]
    n_empty: Annotated[int, "responses without records"]
    max_wait_ms: Annotated[int | None, "most common max_wait_ms"]
    min_bytes: Annotated[int | None, "most common min_bytes"]


@dataclass(frozen=True, slots=True)
class ClientTraffic:
    """Produce and Fetch traffic of a client."""

    client_ip: Annotated[str | None, "address"]
    client_id: Annotated[str | None, "client id"]
    n_requests: Annotated[int, "requests of all APIs"]
    produce: Annotated[ProduceTraffic | None, "its Produce requests; null without any"]
    fetch: Annotated[FetchTraffic | None, "its Fetch and ShareFetch requests; null without any"]
    requests_a_record: Annotated[float | None, "requests of all APIs per record; much above 1 means small batches"]

    @property
    def record_bytes(self) -> int:
        """Bytes of record batches that the client sent and received."""
        return sum(part.record_bytes for part in (self.produce, self.fetch) if part)


@dataclass(frozen=True, slots=True)
class AllClientTraffic:
    """Produce and Fetch traffic of each client (address and client id)."""

    codecs_known: Annotated[bool, "whether compression was read (--record-batches)"]
    n: Annotated[int, "clients that sent or fetched"]
    listed: Annotated[tuple[ClientTraffic, ...], "clients, those with most bytes first, at most 200"]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Totals over the requests of some APIs."""

    n: int
    n_records: int
    record_bytes: int
    n_partitions: int
    n_empty: int


@dataclass(frozen=True, slots=True)
class _Client:
    """Totals of a client's requests: of all APIs, of Produce and of Fetch, and how many requests have each value of a
    setting."""

    client_ip: str | None
    client_id: str | None
    n: int
    produce: _Sums
    fetch: _Sums
    acks: dict[int, int]
    max_wait_ms: dict[int, int]
    min_bytes: dict[int, int]


@dataclass(frozen=True, slots=True)
class _Codec:
    """The number of batches that a client compressed with one codec."""

    client_ip: str | None
    client_id: str | None
    codec: str
    n: int


_SUMS = """{{
    'n': count(*) filter ({which}), 'n_records': (sum(n_records) filter ({which}))::bigint,
    'record_bytes': (sum(record_bytes) filter ({which}))::bigint,
    'n_partitions': (sum(n_partitions) filter ({which}))::bigint,
    'n_empty': count(*) filter ({which} and coalesce(n_records, 0) = 0)}}"""
_REQUESTS = f"""
select client_ip, client_id, count(*) as n, {_SUMS.format(which=f"api_key = {PRODUCE}")} as produce,
    {_SUMS.format(which=f"api_key in ({FETCH}, {SHARE_FETCH})")} as fetch,
    histogram(acks) as acks, histogram(max_wait_ms) as max_wait_ms, histogram(min_bytes) as min_bytes
from requests where coalesce(replica_id, -1) < 0 group by client_ip, client_id
"""
"""Requests of clients, without followers' fetches."""
_CODECS = f"""
select client_ip, client_ids[1] as client_id, coalesce(nullif(codec, ''), 'unknown') as codec, count(*) as n
from record_batches join connections using (conn_id) where api_key = {PRODUCE} and control is null
group by all order by codec
"""


def client_traffic(database: Database) -> AllClientTraffic:
    """Returns clients by the bytes of records that they sent and received. `codecs_known` says whether compression was
    read."""
    codecs = grouped(select(database, _CODECS, _Codec), lambda row: (row.client_ip, row.client_id))
    found = [
        _traffic(row, {one.codec: one.n for one in codecs.get((row.client_ip, row.client_id), ())})
        for row in select(database, _REQUESTS, _Client)
    ]
    listed = [traffic for traffic in found if traffic.produce or traffic.fetch]
    listed.sort(key=lambda row: (-row.record_bytes, str(row.client_ip), str(row.client_id)))
    return AllClientTraffic(bool(codecs), len(listed), tuple(listed[:MOST_CLIENTS]))


def _traffic(row: _Client, codecs: dict[str, int]) -> ClientTraffic:
    return ClientTraffic(
        client_ip=row.client_ip,
        client_id=row.client_id,
        n_requests=row.n,
        produce=_produce(row, codecs) if row.produce.n else None,
        fetch=_fetch(row) if row.fetch.n else None,
        requests_a_record=_ratio(row.n, row.produce.n_records + row.fetch.n_records),
    )


def _produce(row: _Client, codecs: dict[str, int]) -> ProduceTraffic:
    sums = row.produce
    return ProduceTraffic(
        n=sums.n,
        n_records=sums.n_records,
        record_bytes=sums.record_bytes,
        records_a_request=_ratio(sums.n_records, sums.n),
        bytes_a_request=sums.record_bytes // sums.n,
        bytes_a_batch=sums.record_bytes // sums.n_partitions if sums.n_partitions else None,
        acks={str(value): n for value, n in sorted(row.acks.items())},
        codecs=codecs,
    )


def _fetch(row: _Client) -> FetchTraffic:
    sums = row.fetch
    return FetchTraffic(
        n=sums.n,
        n_records=sums.n_records,
        record_bytes=sums.record_bytes,
        records_a_request=_ratio(sums.n_records, sums.n),
        bytes_a_request=sums.record_bytes // sums.n,
        n_empty=sums.n_empty,
        max_wait_ms=_commonest(row.max_wait_ms),
        min_bytes=_commonest(row.min_bytes),
    )


def _ratio(part: int, whole: int) -> float | None:
    """Returns the quotient, rounded down to thousandths; None for a whole of zero."""
    return part * 1000 // whole / 1000 if whole else None


def _commonest(used: dict[int, int]) -> int | None:
    return min(used, key=lambda value: (-used[value], value), default=None)
