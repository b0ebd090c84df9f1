"""Latency of each broker for clients over the capture.

The capture's time is divided into half as many slots as for rates (request_counts.slots); a request belongs to the one
in which it was sent, so that the latency of a request that waited for a broker shows where the waiting began. Requests
that a broker holds on purpose and requests between brokers are left out. Latencies are counted in steps, as in
model.latency.
"""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.formatting import clock, span
from kafkascope_analyzer.report.model.latency import MEANT_TO_WAIT, OF_CLIENTS_SQL, STEP_SQL
from kafkascope_analyzer.report.model.request_counts.count import SLOT, Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.rows import grouped, select

MOST_LINES = 12
"""Most brokers whose latency over time is in report.json, those with the most requests."""
_ANSWERED = Count(
    f"""
    select node_id, {{slot}} as {SLOT}, {STEP_SQL.format(us="broker_us")} as us, count(*) as n
    from {{requests}} semi join {OF_CLIENTS_SQL} using (conn_id)
    where broker_us is not null and node_id is not null and decoded_by is distinct from 'tls_lengths'
        and api_name not in {MEANT_TO_WAIT}
    group by all""",
    {"node_id": pa.int64(), SLOT: pa.int64(), "us": pa.int64()},
    {"n": ("sum", pa.int64())},
    of_clients=True,
)
_QUERY = """
with steps as (
    select node_id, {slot} as slot, us, sum(n) as n from {answered} group by all
), ranked as (
    select *, sum(n) over (partition by node_id, slot order by us) as n_up_to,
        sum(n) over (partition by node_id, slot) as n_all
    from steps
)
select node_id, slot::integer as slot, any_value(n_all)::bigint as n,
    min(us) filter (100 * n_up_to >= 50 * n_all)::bigint as p50_us,
    min(us) filter (100 * n_up_to >= 99 * n_all)::bigint as p99_us
from ranked group by node_id, slot order by node_id, slot
"""


@dataclass(frozen=True, slots=True)
class LatencySlot:
    """Requests that a broker answered, by the slot of time in which they were sent."""

    from_ns: Annotated[int, "begin of the slot"]
    to_ns: Annotated[int, "end of the slot"]
    n: Annotated[int, "requests"]
    p50_us: Annotated[int, "median of the broker's time with them (at most 0.8 % low)"]
    p99_us: Annotated[int, "99th percentile"]
    when: Annotated[str, "from when to when, after the capture's start"]


@dataclass(frozen=True, slots=True)
class BrokerOverTime:
    """Latency of a broker for clients over the capture."""

    node_id: Annotated[int, "node id"]
    n: Annotated[int, "requests"]
    slots: Annotated[tuple[LatencySlot, ...], "slots with requests that it answered, by time"]


@dataclass(frozen=True, slots=True)
class LatencyOverTime:
    """Latency of each broker for clients over the capture, without requests that a broker holds on purpose."""

    n_slots: Annotated[int, "slots into which the capture is divided: equal ones, but the last goes on to its end"]
    slot_text: Annotated[str, "length of each slot"]
    n: Annotated[int, "brokers"]
    listed: Annotated[tuple[BrokerOverTime, ...], "brokers by node id, at most 12: those with most requests"]


@dataclass(frozen=True, slots=True)
class _Slot:
    node_id: int
    slot: int
    n: int
    p50_us: int
    p99_us: int


def latency_over_time(database: ReportTables) -> LatencyOverTime:
    """Returns latency by broker and slot. Raises UsageError where a table cannot be read."""
    slots = database.counts.slots.doubled
    query = _QUERY.format(
        answered=database.counts.of(_ANSWERED), slot=slots.number_sql(SLOT, parts=database.counts.slots)
    )

    def slot_of(row: _Slot) -> LatencySlot:
        begin, end = slots.times(row.slot)
        when = f"{clock(begin - slots.start_ns)} to {clock(end - slots.start_ns)}"
        return LatencySlot(begin, end, row.n, row.p50_us, row.p99_us, when)

    by_broker = grouped(select(database, query, _Slot), lambda row: row.node_id)
    found = [BrokerOverTime(node, sum(r.n for r in own), tuple(map(slot_of, own))) for node, own in by_broker.items()]
    most = sorted(found, key=lambda broker: (-broker.n, broker.node_id))[:MOST_LINES]
    listed = tuple(sorted(most, key=lambda broker: broker.node_id))
    return LatencyOverTime(slots.n, span(slots.length_ns // 1000), len(found), listed)
