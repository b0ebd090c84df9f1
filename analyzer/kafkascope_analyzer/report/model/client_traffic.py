"""How each client sends and fetches: records a request, batch sizes, acks, compression, empty fetches.

A client is an address and a client id, so that this needs no stories. A Produce request carries one batch a partition
(Kafka 0.11 and later), so its bytes over its partitions are a batch. Compression is known where batches were read
(`--record-batches`).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.rows import grouped, select
from kafkascope_analyzer.sql.database import Database
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH

MOST_CLIENTS = 200
ClientKey = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class ProduceTraffic:
    """Produce requests of a client."""

    n: Annotated[int, "requests"]
    n_records: Annotated[int, "records"]
    record_bytes: Annotated[int, "bytes of record batches"]
    records_a_request: Annotated[float | None, "records a request"]
    bytes_a_request: Annotated[int | None, "bytes of record batches a request"]
    bytes_a_batch: Annotated[int | None, "bytes a batch: one a partition and request"]
    acks: Annotated[dict[str, int], "requests by acks"]
    codecs: Annotated[dict[str, int], "batches by compression"]


@dataclass(frozen=True, slots=True)
class FetchTraffic:
    """Fetch and ShareFetch requests of a client."""

    n: Annotated[int, "requests"]
    n_records: Annotated[int, "records"]
    record_bytes: Annotated[int, "bytes of record batches"]
    records_a_request: Annotated[float | None, "records a request"]
    bytes_a_request: Annotated[int | None, "bytes of record batches a request"]
    n_empty: Annotated[int, "responses without records"]
    max_wait_ms: Annotated[int | None, "commonest max_wait_ms"]
    min_bytes: Annotated[int | None, "commonest min_bytes"]


@dataclass(frozen=True, slots=True)
class ClientTraffic:
    """How a client sends and fetches."""

    client_ip: Annotated[str | None, "address"]
    client_id: Annotated[str | None, "client id"]
    n_requests: Annotated[int, "requests of all APIs"]
    produce: Annotated[ProduceTraffic | None, "its Produce requests; null without any"]
    fetch: Annotated[FetchTraffic | None, "its Fetch and ShareFetch requests; null without any"]
    requests_a_record: Annotated[float | None, "requests of all APIs a record: much above 1 is chatty"]

    @property
    def record_bytes(self) -> int:
        """Bytes of record batches that it sent and got."""
        return sum(part.record_bytes for part in (self.produce, self.fetch) if part)


@dataclass(frozen=True, slots=True)
class AllClientTraffic:
    """How each client (address and client id) sends and fetches."""

    codecs_known: Annotated[bool, "whether compression was read (--record-batches)"]
    n: Annotated[int, "clients that sent or fetched"]
    listed: Annotated[tuple[ClientTraffic, ...], "clients, those that moved most first, at most 200"]


@dataclass(frozen=True, slots=True)
class _Alike:
    """Requests of a client of one API and with one setting of each parameter; other APIs together."""

    client_ip: str | None
    client_id: str | None
    api_key: int | None
    acks: int | None
    max_wait_ms: int | None
    min_bytes: int | None
    n: int
    n_records: int
    record_bytes: int
    n_partitions: int
    n_empty: int

    @property
    def client(self) -> ClientKey:
        """Address and client id."""
        return self.client_ip, self.client_id


@dataclass(frozen=True, slots=True)
class _Codec:
    """How many batches a client compressed in one way."""

    client_ip: str | None
    client_id: str | None
    codec: str
    n: int


_REQUESTS = f"""
with sent as (
    select * replace (case when api_key in ({PRODUCE}, {FETCH}, {SHARE_FETCH}) then api_key end as api_key)
    from requests where coalesce(replica_id, -1) < 0
)
select client_ip, client_id, api_key, acks, max_wait_ms, min_bytes, count(*) as n, sum(n_records)::bigint as n_records,
    sum(record_bytes)::bigint as record_bytes, sum(n_partitions)::bigint as n_partitions,
    count(*) filter (coalesce(n_records, 0) = 0) as n_empty
from sent group by all order by all
"""
"""Without followers' fetches."""
_CODECS = f"""
select client_ip, client_ids[1] as client_id, coalesce(nullif(codec, ''), 'unknown') as codec, count(*) as n
from record_batches join connections using (conn_id) where api_key = {PRODUCE} and control is null
group by all order by codec
"""


def client_traffic(database: Database) -> AllClientTraffic:
    """Clients by the bytes of records that they moved; `codecs_known` says whether compression was read."""
    codecs = grouped(select(database, _CODECS, _Codec), lambda row: (row.client_ip, row.client_id))
    clients = grouped(select(database, _REQUESTS, _Alike), lambda row: row.client)
    found = [_traffic(rows, {row.codec: row.n for row in codecs.get(client, ())}) for client, rows in clients.items()]
    listed = [traffic for traffic in found if traffic.produce or traffic.fetch]
    listed.sort(key=lambda row: (-row.record_bytes, str(row.client_ip), str(row.client_id)))
    return AllClientTraffic(bool(codecs), len(listed), tuple(listed[:MOST_CLIENTS]))


def _traffic(rows: list[_Alike], codecs: dict[str, int]) -> ClientTraffic:
    n, sent = sum(row.n for row in rows), [row for row in rows if row.api_key == PRODUCE]
    got = [row for row in rows if row.api_key in (FETCH, SHARE_FETCH)]
    return ClientTraffic(
        client_ip=rows[0].client_ip,
        client_id=rows[0].client_id,
        n_requests=n,
        produce=_produce(sent, _used(rows, lambda row: row.acks), codecs) if sent else None,
        fetch=_fetch(got, rows) if got else None,
        requests_a_record=_ratio(n, sum(row.n_records for row in (*sent, *got))),
    )


def _used(rows: list[_Alike], setting: Callable[[_Alike], int | None]) -> dict[int, int]:
    """How many requests had each value of a setting, by value."""
    found: Counter[int] = Counter()
    for row in rows:
        value = setting(row)
        if value is not None:
            found[value] += row.n
    return dict(sorted(found.items()))


def _produce(rows: list[_Alike], acks: dict[int, int], codecs: dict[str, int]) -> ProduceTraffic:
    n, n_partitions = sum(row.n for row in rows), sum(row.n_partitions for row in rows)
    n_records, record_bytes = sum(row.n_records for row in rows), sum(row.record_bytes for row in rows)
    return ProduceTraffic(
        n=n,
        n_records=n_records,
        record_bytes=record_bytes,
        records_a_request=_ratio(n_records, n),
        bytes_a_request=record_bytes // n,
        bytes_a_batch=record_bytes // n_partitions if n_partitions else None,
        acks={str(value): used for value, used in acks.items()},
        codecs=codecs,
    )


def _fetch(rows: list[_Alike], of_client: list[_Alike]) -> FetchTraffic:
    n, n_records = sum(row.n for row in rows), sum(row.n_records for row in rows)
    record_bytes = sum(row.record_bytes for row in rows)
    return FetchTraffic(
        n=n,
        n_records=n_records,
        record_bytes=record_bytes,
        records_a_request=_ratio(n_records, n),
        bytes_a_request=record_bytes // n,
        n_empty=sum(row.n_empty for row in rows),
        max_wait_ms=_commonest(_used(of_client, lambda row: row.max_wait_ms)),
        min_bytes=_commonest(_used(of_client, lambda row: row.min_bytes)),
    )


def _ratio(part: int, whole: int) -> float | None:
    """The quotient, rounded down to thousandths; None over nothing."""
    return part * 1000 // whole / 1000 if whole else None


def _commonest(used: dict[int, int]) -> int | None:
    return min(used, key=lambda value: (-used[value], value), default=None)
