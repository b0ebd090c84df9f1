"""Produce and Fetch traffic of each client: records per request, batch sizes, acks, compression, empty fetches.

A client is an address and a client id here, so that no stories are needed. A Produce request carries one batch per
partition (Kafka 0.11 and later), so its bytes divided by its partitions are the batch size. Compression is known where
batches were read (`--record-batches`).
"""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.rows import grouped, select
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


_SETTINGS = ("acks", "max_wait_ms", "min_bytes")
_NUMBERS = ("n", "n_records", "record_bytes", "n_partitions", "n_empty")
# Requests of clients, without followers' fetches.
_SENT = Count(
    f"""
    select client_ip, client_id, api_key, {", ".join(_SETTINGS)}, count(*) as n,
        coalesce(sum(n_records), 0) as n_records, coalesce(sum(record_bytes), 0) as record_bytes,
        coalesce(sum(n_partitions), 0) as n_partitions, count(*) filter (coalesce(n_records, 0) = 0) as n_empty
    from {{requests}} where coalesce(replica_id, -1) < 0 group by all""",
    {"client_ip": pa.string(), "client_id": pa.string(), **dict.fromkeys(("api_key", *_SETTINGS), pa.int64())},
    dict.fromkeys(_NUMBERS, ("sum", pa.int64())),
)


def _sums_sql(which: str) -> str:
    """Returns SQL for the numbers of the requests of some APIs."""
    return ", ".join(f"'{name}': (sum({name}) filter ({which}))::bigint" for name in _NUMBERS)


def _used_sql(setting: str) -> str:
    """Returns the query for the number of each client's requests by the value of a setting."""
    return f"""
    select client_ip, client_id, map_from_entries(list(({setting}, n) order by {setting})) as {setting} from (
        select client_ip, client_id, {setting}, sum(n)::bigint as n
        from {{sent}} where {setting} is not null group by all
    ) group by all"""


def _of_client(table: str) -> str:
    return " and ".join(f"{table}.{name} is not distinct from clients.{name}" for name in ("client_ip", "client_id"))


_REQUESTS = f"""
with clients as (
    select client_ip, client_id, sum(n)::bigint as n, {{{{{_sums_sql(f"api_key = {PRODUCE}")}}}}} as produce,
        {{{{{_sums_sql(f"api_key in ({FETCH}, {SHARE_FETCH})")}}}}} as fetch
    from {{sent}} group by client_ip, client_id
), {", ".join(f"of_{name} as ({_used_sql(name)})" for name in _SETTINGS)}
select clients.*, {", ".join(_SETTINGS)} from clients
{" ".join(f"left join of_{name} on {_of_client(f'of_{name}')}" for name in _SETTINGS)}
"""
_CODECS = f"""
select client_ip, client_ids[1] as client_id, coalesce(nullif(codec, ''), 'unknown') as codec, count(*) as n
from record_batches join connections using (conn_id) where api_key = {PRODUCE} and control is null
group by all order by codec
"""


def client_traffic(database: ReportTables) -> AllClientTraffic:
    """Returns clients by the bytes of records that they sent and received. `codecs_known` says whether compression was
    read."""
    codecs = grouped(select(database, _CODECS, _Codec), lambda row: (row.client_ip, row.client_id))
    found = [
        _traffic(row, {one.codec: one.n for one in codecs.get((row.client_ip, row.client_id), ())})
        for row in select(database, _REQUESTS.format(sent=database.counts.of(_SENT)), _Client)
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
