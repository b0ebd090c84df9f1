"""The APIs of the requests, each with its versions, latency and errors, and the error codes in the responses."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.model.latency import percentiles_sql
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_ERRORS = 40


@dataclass(frozen=True, slots=True)
class Api:
    """An API with its versions, latency and errors."""

    api_name: Annotated[str, "API"]
    n: Annotated[int, "requests"]
    versions: Annotated[tuple[int, ...], "versions of the requests"]
    p50_us: Annotated[int | None, "median of broker_us (at most 0.8 % low), as all percentiles here"]
    p99_us: Annotated[int | None, "99th percentile"]
    max_us: Annotated[int | None, "longest"]
    n_with_errors: Annotated[int, "responses with an error code"]
    statuses: Annotated[dict[str, int], "requests by status: whether and how they were answered"]
    request_bytes: Annotated[int, "bytes of the requests"]
    response_bytes: Annotated[int, "bytes of the responses"]


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """An error code in the responses of an API."""

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


_NAMED = "(from requests where api_name is not null)"
"""Requests with a known API. A response whose request is not in the capture has none."""
_APIS = f"""
with latencies as ({percentiles_sql({"api_name": "api_name"}, "broker_us", _NAMED)}), sent as (
    select api_name, count(*) as n, list_sort(list(distinct api_version) filter (api_version is not null)) as versions,
        count(*) filter (coalesce(error_code, 0) <> 0) as n_with_errors,
        histogram(coalesce(nullif(status, ''), 'unknown')) as statuses,
        coalesce(sum(request_bytes), 0)::bigint as request_bytes,
        coalesce(sum(response_bytes), 0)::bigint as response_bytes
    from {_NAMED} group by api_name
)
select sent.*, p50_us, p99_us, max_us from sent left join latencies using (api_name) order by sent.n desc, api_name
"""
_ERRORS = """
select coalesce(nullif(error_name, ''), '?') as error_name, coalesce(nullif(api_name, ''), '?') as api_name,
    count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns
from errors group by 1, 2 order by n desc, error_name, api_name
"""


def apis(database: Database) -> tuple[Api, ...]:
    """Returns each API with requests, the most frequent first: how often, in which versions, how fast, how
    many errors."""
    return tuple(select(database, _APIS, Api))


def errors(database: Database) -> Errors:
    """Returns the error codes of the responses: of which API, how often, when first and when last."""
    kinds = select(database, _ERRORS, ErrorKind)
    return Errors(sum(kind.n for kind in kinds), len(kinds), tuple(kinds[:MOST_ERRORS]))
