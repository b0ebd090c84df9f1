"""Latency of each broker for each API, split into the broker's time and the network's.

broker: last byte of the request to first byte of the response, as the capture saw it, without the time for which the
request waited for the previous response on its connection and for the throttle time in it (`requests.broker_us`);
queued: that waiting time. network: the transfer time of the bytes, first to last byte of the request and of the
response. The share of the round trip in the broker's time depends on where the capture was taken: `round_trip`, from
SYN to SYN-ACK, says how much that is.
"""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.formatting import ADDRESS_SQL
from kafkascope_analyzer.report.model.latency import STEP_SQL, percentiles_sql
from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.rows import select

MOST_PAIRS = 500
"""Most pairs of API and broker in report.json, those with the most requests."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Round trips to a broker."""

    node_id: Annotated[int | None, "node id of the broker"]
    address: Annotated[str | None, "its address, where the node id is not known"]
    n_handshakes: Annotated[int, "handshakes seen"]
    round_trip_p50_us: Annotated[int | None, "SYN to SYN-ACK, median"]
    round_trip_p99_us: Annotated[int | None, "99th percentile"]


@dataclass(frozen=True, slots=True)
class LatencyPair:
    """Latency of a broker for an API."""

    api_name: Annotated[str, "API"]
    node_id: Annotated[int | None, "node id of the broker"]
    address: Annotated[str | None, "its address, where the node id is not known"]
    n: Annotated[int, "answered requests"]
    broker_p50_us: Annotated[
        int | None, "last byte of the request, or of the previous response, to first byte of the response, median"
    ]
    broker_p99_us: Annotated[int | None, "99th percentile"]
    queued_p50_us: Annotated[
        int | None, "wait for the previous response on the connection and for the throttle time in it, median"
    ]
    queued_p99_us: Annotated[int | None, "99th percentile"]
    network_p50_us: Annotated[int | None, "first to last byte of the request and of the response, median"]
    network_p99_us: Annotated[int | None, "99th percentile"]
    max_us: Annotated[int | None, "longest time at the broker"]


@dataclass(frozen=True, slots=True)
class BrokerLatency:
    """Latency of each broker for each API."""

    brokers: Annotated[
        tuple[RoundTrip, ...], "round trips as the capture saw them, which are part of the broker's time"
    ]
    n: Annotated[int, "pairs of API and broker"]
    listed: Annotated[tuple[LatencyPair, ...], "pairs, those with most requests first, at most 500"]


_SERVER = {
    "node_id": "node_id",
    "address": f"case when node_id is null then {ADDRESS_SQL.format(ip='server_ip', port='server_port')} end",
}
"""Names a broker by its node id, or by its address where the node id is not known."""
_NETWORK = """(coalesce(coalesce(request_last_ns, ts_ns) - ts_ns
    + coalesce(response_last_ns, response_ns) - response_ns, 0) // 1000)"""


_NAMES = ", ".join(("api_name", *_SERVER))
_KEYS = f"{_NAMES}, is_encrypted"
_SERVER_NAMES = ", ".join(f"{expression} as {name}" for name, expression in _SERVER.items())
_STEPS = {name: STEP_SQL.format(us=f"{name}_us") for name in ("broker", "queued", "network")}


def _joined(text: str, separator: str = ", ") -> str:
    """Returns the text for each of the durations, with its name and the expression of its step."""
    return separator.join(text.format(name=name, step=step) for name, step in _STEPS.items())


def _percentile(share: int) -> str:
    """Returns the columns of this percentile of each duration."""
    shown = "min(step) filter (what = '{name}' and 100 * n_up_to >= {share} * n_all) as {name}_p{share}_us"
    return _joined(shown.replace("{share}", str(share)))


# One query for all durations, because to read the requests takes longer than to count them.
DURATIONS = Count(
    f"""
    with durations as (
        select api_name, {_SERVER_NAMES}, decoded_by is not distinct from 'tls_lengths' as is_encrypted,
            broker_us::bigint as broker_us, queued_us::bigint as queued_us, {_NETWORK}::bigint as network_us
        from {{requests}} where broker_us is not null
    ), counted as materialized (
        select {_KEYS}, {_joined("{step} as {name}")}, max(broker_us) as longest, count(*) as n
        from durations group by grouping sets ({_joined(f"({_KEYS}, {{name}})")})
    )
    {
        _joined(
            f"select {_KEYS}, '{{name}}' as what, {{name}} as step, n, longest from counted where {{name}} is not null",
            " union all ",
        )
    }""",
    {
        "api_name": pa.string(),
        "node_id": pa.int64(),
        "address": pa.string(),
        "is_encrypted": pa.bool_(),
        "what": pa.string(),
        "step": pa.int64(),
    },
    {"n": ("sum", pa.int64()), "longest": ("max", pa.int64())},
)
"""Answered requests by how long they took at the broker, before it and in the network, by API and server. longest: the
longest time at the broker."""
# Without encrypted requests: it is not known which of those a broker holds on purpose.
_PAIRS = f"""
with steps as (
    select coalesce(nullif(api_name, ''), '?') as api_name, node_id, address, what, step, sum(n) as n,
        max(longest) as longest
    from {{durations}} where not is_encrypted group by all
), ranked as (
    select *, sum(n) over (partition by {_NAMES}, what order by step) as n_up_to,
        sum(n) over (partition by {_NAMES}, what) as n_all
    from steps
)
select {_NAMES}, any_value(n_all) filter (what = 'broker')::bigint as n, {_percentile(50)}, {_percentile(99)},
    greatest(max(longest) filter (what = 'broker'), 0) as max_us
from ranked group by {_NAMES}
"""
_ROUND_TRIPS = f"""
select node_id, address, n as n_handshakes, p50_us as round_trip_p50_us, p99_us as round_trip_p99_us
from ({percentiles_sql(_SERVER, "handshake_us", "(from connections where protocol = 'kafka')")})
"""


def broker_latency(database: ReportTables) -> BrokerLatency:
    """Returns round trips by broker, and the pairs of API and broker, those with most requests first."""
    brokers = select(database, _ROUND_TRIPS, RoundTrip)
    brokers.sort(key=lambda row: (row.node_id is None, row.node_id or 0, row.address or ""))
    listed = select(database, _PAIRS.format(durations=database.counts.of(DURATIONS)), LatencyPair)
    listed.sort(key=lambda row: (-row.n, row.api_name, row.node_id or -1, row.address or ""))
    return BrokerLatency(tuple(brokers[:MOST_PAIRS]), len(listed), tuple(listed[:MOST_PAIRS]))
