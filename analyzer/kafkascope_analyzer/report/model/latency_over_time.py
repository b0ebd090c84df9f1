"""Latency of each broker for clients over the capture.

The capture's time is divided into N_SLOTS equal slots; a request belongs to the one in which it was sent, so that the
latency of a request that waited for a broker shows where the waiting began. Requests that a broker holds on purpose and
requests between brokers are left out. Latencies are counted in steps, as in model.latency.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.formatting import clock, span
from kafkascope_analyzer.report.model.latency import MEANT_TO_WAIT, OF_CLIENTS_SQL, STEP_SQL
from kafkascope_analyzer.report.model.request_rates import LEAST_SPAN_NS
from kafkascope_analyzer.report.rows import grouped, select
from kafkascope_analyzer.sql.database import Database

N_SLOTS = 60
MOST_LINES = 12
"""Most brokers whose latency over time is in report.json, those with the most requests."""
_QUERY = """
with answered as (
    select node_id, {step} as us,
        least({n_slots} - 1, greatest(0, ts_ns - {start_ns})::hugeint * {n_slots} // {span_ns}) as slot
    from requests semi join {clients} using (conn_id)
    where broker_us is not null and node_id is not null and decoded_by is distinct from 'tls_lengths'
        and api_name not in {waiting}
), steps as (
    select node_id, slot, us, count(*) as n from answered group by all
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

    n_slots: Annotated[int, "equal slots into which the capture is divided"]
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


def latency_over_time(database: Database) -> LatencyOverTime:
    """Returns latency by broker and slot. Raises UsageError where a table cannot be read."""
    start_ns, end_ns = capture_span(database.dataset)
    span_ns = max(end_ns - start_ns + 1, LEAST_SPAN_NS)
    query = _QUERY.format(
        step=STEP_SQL.format(us="broker_us"),
        clients=OF_CLIENTS_SQL,
        waiting=MEANT_TO_WAIT,
        n_slots=N_SLOTS,
        start_ns=start_ns,
        span_ns=span_ns,
    )

    def slot_of(row: _Slot) -> LatencySlot:
        begin, end = (span_ns * number // N_SLOTS for number in (row.slot, row.slot + 1))
        when = f"{clock(begin)} to {clock(end)}"
        return LatencySlot(start_ns + begin, start_ns + end, row.n, row.p50_us, row.p99_us, when)

    by_broker = grouped(select(database, query, _Slot), lambda row: row.node_id)
    found = [BrokerOverTime(node, sum(r.n for r in own), tuple(map(slot_of, own))) for node, own in by_broker.items()]
    most = sorted(found, key=lambda broker: (-broker.n, broker.node_id))[:MOST_LINES]
    listed = tuple(sorted(most, key=lambda broker: broker.node_id))
    return LatencyOverTime(N_SLOTS, span(span_ns // N_SLOTS // 1000), len(found), listed)
