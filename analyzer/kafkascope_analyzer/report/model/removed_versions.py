"""Clients that use API versions or APIs that Kafka 4.0 removed (KIP-896): they stop working when the brokers are
upgraded.
"""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.rows import select

MOST_USES = 200


@dataclass(frozen=True, slots=True)
class RemovedUse:
    """A client's use of a version that Kafka 4.0 does not have."""

    client_ip: Annotated[str | None, "address"]
    client_id: Annotated[str | None, "client id"]
    api_key: Annotated[int, "API key"]
    api_name: Annotated[str | None, "API"]
    api_version: Annotated[int, "version"]
    n: Annotated[int, "requests"]
    first_ns: Annotated[int, "first request"]
    last_ns: Annotated[int, "last request"]
    software_name: Annotated[str | None, "client software, where ApiVersions has it"]
    software_version: Annotated[str | None, "its version"]
    lowest_in_4_0: Annotated[int | None, "lowest version in 4.0; null where the API was removed"]


@dataclass(frozen=True, slots=True)
class RemovedVersions:
    """Clients that use API versions that Kafka 4.0 removed (KIP-896)."""

    n: Annotated[int, "uses: client, API, version"]
    n_requests: Annotated[int, "requests"]
    listed: Annotated[tuple[RemovedUse, ...], "uses, the most frequent first, at most 200"]


_USED = Count(
    """
    select client_ip, client_id, api_key, api_name, api_version, count(*) as n, min(ts_ns) as first_ns,
        max(ts_ns) as last_ns, min(conn_id) as conn_id
    from {requests} group by all""",
    {
        "client_ip": pa.string(),
        "client_id": pa.string(),
        "api_key": pa.int64(),
        "api_name": pa.string(),
        "api_version": pa.int64(),
    },
    {
        "n": ("sum", pa.int64()),
        "first_ns": ("min", pa.int64()),
        "last_ns": ("max", pa.int64()),
        "conn_id": ("min", pa.string()),
    },
)
_USES = """
with uses as (
    select u.*, lowest_in_4_0 from {used} u join api_versions v using (api_key, api_version) where not v.in_4_0
)
select u.* exclude (conn_id), software_name, software_version from uses u left join connections using (conn_id)
order by n desc, {order}
"""
_ORDER = ("client_ip", "client_id", "api_key", "api_name", "api_version")


def removed_versions(database: ReportTables) -> RemovedVersions:
    """Returns uses by client, API and version, the most frequent first, each with the lowest version that 4.0 has.

    ApiVersions v0 is left out: every client may fall back to it, and 4.0 answers it.
    """
    order = ", ".join(f"coalesce(u.{column}::varchar, 'None')" for column in _ORDER)
    uses = select(database, _USES.format(order=order, used=database.counts.of(_USED)), RemovedUse)
    return RemovedVersions(len(uses), sum(use.n for use in uses), tuple(uses[:MOST_USES]))
