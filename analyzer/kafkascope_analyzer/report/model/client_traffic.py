"""How each client sends and fetches: records a request, batch sizes, acks, compression, empty fetches.

A client is an address and a client id, so that this needs no stories. A Produce request carries one batch a partition
(Kafka 0.11 and later), so its bytes over its partitions are a batch. Compression is known where batches were read
(`--record-batches`).
"""

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


@dataclass(frozen=True, slots=True)
class AllClientTraffic:
    """How each client (address and client id) sends and fetches."""

    codecs_known: Annotated[bool, "whether compression was read (--record-batches)"]
    n: Annotated[int, "clients that sent or fetched"]
    listed: Annotated[tuple[ClientTraffic, ...], "clients, those that moved most first, at most 200"]


@dataclass(frozen=True, slots=True)
class _Sums:
    """What is added up of a client."""

    client_ip: str | None
    client_id: str | None
    n_requests: int
    n_produce: int
    produce_records: int
    produce_bytes: int
    produce_partitions: int
    n_fetch: int
    fetch_records: int
    fetch_bytes: int
    n_empty: int

    @property
    def client(self) -> ClientKey:
        """Address and client id."""
        return self.client_ip, self.client_id


@dataclass(frozen=True, slots=True)
class _Use:
    """How often a client used a value of a setting."""

    client_ip: str | None
    client_id: str | None
    setting: str
    value: str
    n: int


_OF_CLIENTS = "coalesce(replica_id, -1) < 0"
"""No follower's fetch."""
_SUMS = f"""
with sent as (
    select *, api_key = {PRODUCE} as is_produce, api_key in ({FETCH}, {SHARE_FETCH}) as is_fetch from requests
    where {_OF_CLIENTS}
)
select client_ip, client_id, count(*) as n_requests, count(*) filter (is_produce) as n_produce,
    sum(n_records) filter (is_produce)::bigint as produce_records,
    sum(record_bytes) filter (is_produce)::bigint as produce_bytes,
    sum(n_partitions) filter (is_produce)::bigint as produce_partitions,
    count(*) filter (is_fetch) as n_fetch, sum(n_records) filter (is_fetch)::bigint as fetch_records,
    sum(record_bytes) filter (is_fetch)::bigint as fetch_bytes,
    count(*) filter (is_fetch and coalesce(n_records, 0) = 0) as n_empty
from sent group by client_ip, client_id having n_produce + n_fetch > 0
order by coalesce(produce_bytes, 0) + coalesce(fetch_bytes, 0) desc, coalesce(client_ip, 'None'),
    coalesce(client_id, 'None')
"""
_USES = """
select client_ip, client_id, '{column}' as setting, {column}::varchar as value, count(*) as n from requests
where {column} is not null and {of_clients} group by all order by any_value({column})
"""
_CODECS = f"""
select client_ip, client_ids[1] as client_id, 'codec' as setting, coalesce(nullif(codec, ''), 'unknown') as value,
    count(*) as n
from record_batches join connections using (conn_id) where api_key = {PRODUCE} and control is null
group by all order by value
"""


def client_traffic(database: Database) -> AllClientTraffic:
    """Clients by the bytes of records that they moved; `codecs_known` says whether compression was read."""
    codecs = select(database, _CODECS, _Use)
    uses = {"codec": grouped(codecs, _client)}
    for column in ("acks", "max_wait_ms", "min_bytes"):
        uses[column] = grouped(select(database, _USES.format(column=column, of_clients=_OF_CLIENTS), _Use), _client)
    clients = select(database, _SUMS, _Sums)
    listed = [
        _traffic(sums, {name: known.get(sums.client, []) for name, known in uses.items()})
        for sums in clients[:MOST_CLIENTS]
    ]
    return AllClientTraffic(bool(codecs), len(clients), tuple(listed))


def _client(use: _Use) -> ClientKey:
    return use.client_ip, use.client_id


def _traffic(sums: _Sums, uses: dict[str, list[_Use]]) -> ClientTraffic:
    return ClientTraffic(
        client_ip=sums.client_ip,
        client_id=sums.client_id,
        n_requests=sums.n_requests,
        produce=_produce(sums, uses) if sums.n_produce else None,
        fetch=_fetch(sums, uses) if sums.n_fetch else None,
        requests_a_record=_ratio(sums.n_requests, sums.produce_records + sums.fetch_records),
    )


def _produce(sums: _Sums, uses: dict[str, list[_Use]]) -> ProduceTraffic:
    return ProduceTraffic(
        n=sums.n_produce,
        n_records=sums.produce_records,
        record_bytes=sums.produce_bytes,
        records_a_request=_ratio(sums.produce_records, sums.n_produce),
        bytes_a_request=sums.produce_bytes // sums.n_produce,
        bytes_a_batch=sums.produce_bytes // sums.produce_partitions if sums.produce_partitions else None,
        acks={use.value: use.n for use in uses["acks"]},
        codecs={use.value: use.n for use in uses["codec"]},
    )


def _fetch(sums: _Sums, uses: dict[str, list[_Use]]) -> FetchTraffic:
    return FetchTraffic(
        n=sums.n_fetch,
        n_records=sums.fetch_records,
        record_bytes=sums.fetch_bytes,
        records_a_request=_ratio(sums.fetch_records, sums.n_fetch),
        bytes_a_request=sums.fetch_bytes // sums.n_fetch,
        n_empty=sums.n_empty,
        max_wait_ms=_commonest(uses["max_wait_ms"]),
        min_bytes=_commonest(uses["min_bytes"]),
    )


def _ratio(part: int, whole: int) -> float | None:
    """The quotient, rounded down to thousandths; None over nothing."""
    return part * 1000 // whole / 1000 if whole else None


def _commonest(uses: list[_Use]) -> int | None:
    return min(((-use.n, int(use.value)) for use in uses), default=(0, None))[1]
