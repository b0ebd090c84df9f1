"""What the requests were: each API with its versions, latency and errors; and the error codes in the responses."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.model.latency import Percentiles, percentiles_sql
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_ERRORS = 40


@dataclass(frozen=True, slots=True)
class Api:
    """An API."""

    api_name: Annotated[str, "API"]
    n: Annotated[int, "requests"]
    versions: Annotated[tuple[int, ...], "versions of the requests"]
    p50_us: Annotated[int | None, "median latency (at most 0.8 % low), as all percentiles here"]
    p99_us: Annotated[int | None, "99th percentile"]
    max_us: Annotated[int | None, "longest"]
    n_with_errors: Annotated[int, "responses with an error code"]
    statuses: Annotated[dict[str, int], "what became of the requests"]
    request_bytes: Annotated[int, "bytes of the requests"]
    response_bytes: Annotated[int, "bytes of the responses"]


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """An error of an API."""

    error_name: Annotated[str, "error"]
    api_name: Annotated[str, "API that returned it"]
    n: Annotated[int, "times"]
    first_ns: Annotated[int, "first time"]
    last_ns: Annotated[int, "last time"]


@dataclass(frozen=True, slots=True)
class Errors:
    """Error codes in the brokers' responses."""

    n: Annotated[int, "non-zero error codes"]
    n_kinds: Annotated[int, "pairs of error and API"]
    kinds: Annotated[tuple[ErrorKind, ...], "pairs, the most frequent first, at most 40"]


@dataclass(frozen=True, slots=True)
class _Requests:
    """An API's requests that ended in one way."""

    api_name: str
    status: str
    n: int
    versions: tuple[int, ...]
    n_with_errors: int
    request_bytes: int
    response_bytes: int


@dataclass(frozen=True, slots=True)
class _Latency(Percentiles):
    """An API's latency."""

    api_name: str


_NAMED = "(from requests where api_name is not null)"
"""A response whose request is not in the capture has no API."""
_REQUESTS = f"""
select api_name, coalesce(nullif(status, ''), 'unknown') as status, count(*) as n,
    list(distinct api_version) filter (api_version is not null) as versions,
    count(*) filter (coalesce(error_code, 0) <> 0) as n_with_errors,
    coalesce(sum(request_bytes), 0)::bigint as request_bytes,
    coalesce(sum(response_bytes), 0)::bigint as response_bytes
from {_NAMED} group by all order by 1, 2
"""
_ERRORS = """
select coalesce(nullif(error_name, ''), '?') as error_name, coalesce(nullif(api_name, ''), '?') as api_name,
    count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns
from errors group by 1, 2 order by n desc, error_name, api_name
"""


def apis(database: Database) -> tuple[Api, ...]:
    """Each API that was asked for, the most frequent first: how often, in which versions, how fast, how many errors."""
    latencies = percentiles_sql({"api_name": "api_name"}, "latency_us", _NAMED)
    latency = {row.api_name: row for row in select(database, latencies, _Latency)}
    by_api: dict[str, list[_Requests]] = {}
    for row in select(database, _REQUESTS, _Requests):
        by_api.setdefault(row.api_name, []).append(row)
    found = [_api(name, rows, latency.get(name)) for name, rows in by_api.items()]
    return tuple(sorted(found, key=lambda api: (-api.n, api.api_name)))


def _api(name: str, rows: list[_Requests], latency: _Latency | None) -> Api:
    return Api(
        api_name=name,
        n=sum(row.n for row in rows),
        versions=tuple(sorted({version for row in rows for version in row.versions})),
        p50_us=None if latency is None else latency.p50_us,
        p99_us=None if latency is None else latency.p99_us,
        max_us=None if latency is None else latency.max_us,
        n_with_errors=sum(row.n_with_errors for row in rows),
        statuses={row.status: row.n for row in rows},
        request_bytes=sum(row.request_bytes for row in rows),
        response_bytes=sum(row.response_bytes for row in rows),
    )


def errors(database: Database) -> Errors:
    """Which error codes the brokers returned, to which API, how often, and when first and last."""
    kinds = select(database, _ERRORS, ErrorKind)
    return Errors(sum(kind.n for kind in kinds), len(kinds), tuple(kinds[:MOST_ERRORS]))
