"""The APIs of the requests, each with its versions, latency and errors, and the error codes in the responses."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.model.broker_latency import DURATIONS
from kafkascope_analyzer.report.model.latency import percentiles_of_steps_sql
from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
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


# A response whose request is not in the capture has no API.
_SENT = Count(
    """
    select api_name, api_version, coalesce(nullif(status, ''), 'unknown') as status, count(*) as n,
        count(*) filter (coalesce(error_code, 0) <> 0) as n_with_errors,
        coalesce(sum(request_bytes), 0) as request_bytes, coalesce(sum(response_bytes), 0) as response_bytes
    from {requests} where api_name is not null group by all""",
    {"api_name": pa.string(), "api_version": pa.int64(), "status": pa.string()},
    dict.fromkeys(("n", "n_with_errors", "request_bytes", "response_bytes"), ("sum", pa.int64())),
)
_LATENCIES = percentiles_of_steps_sql(
    ["api_name"],
    "select api_name, step, sum(n) as n, max(longest) as longest from {durations} "
    "where what = 'broker' and api_name is not null group by all",
)
_APIS = f"""
with latencies as ({_LATENCIES}), by_status as (
    select api_name, map_from_entries(list((status, n) order by status)) as statuses
    from (select api_name, status, sum(n)::ubigint as n from {{sent}} group by all) group by api_name
), sent as (
    select api_name, sum(n)::bigint as n,
        list_sort(list(distinct api_version) filter (api_version is not null)) as versions,
        sum(n_with_errors)::bigint as n_with_errors, any_value(statuses) as statuses,
        sum(request_bytes)::bigint as request_bytes, sum(response_bytes)::bigint as response_bytes
    from {{sent}} join by_status using (api_name) group by api_name
)
select sent.*, p50_us, p99_us, max_us from sent left join latencies using (api_name) order by sent.n desc, api_name
"""
_ERRORS = """
select coalesce(nullif(error_name, ''), '?') as error_name, coalesce(nullif(api_name, ''), '?') as api_name,
    count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns
from errors group by 1, 2 order by n desc, error_name, api_name
"""


def apis(database: ReportTables) -> tuple[Api, ...]:
    """Returns each API with requests, the most frequent first: how often, in which versions, how fast, how
    many errors."""
    query = _APIS.format(durations=database.counts.of(DURATIONS), sent=database.counts.of(_SENT))
    return tuple(select(database, query, Api))


def errors(database: Database) -> Errors:
    """Returns the error codes of the responses: of which API, how often, when first and when last."""
    kinds = select(database, _ERRORS, ErrorKind)
    return Errors(sum(kind.n for kind in kinds), len(kinds), tuple(kinds[:MOST_ERRORS]))
