"""Rows of a trace about the cluster as a whole: incidents, stalls, broker states, rebalances, transactions, and
counters of requests and lag over time.

Each row is a slice of a track, or a point of a counter. Rows of a table come by time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kafkascope_analyzer.report.rows import select_each
from kafkascope_analyzer.sql.database import Database

MOST_POINTS = 1_000
"""Approximate maximum number of points of one counter."""
LEAST_STEP_MS = 100
"""Shortest time between two points of a counter, milliseconds."""


@dataclass(frozen=True, slots=True)
class TraceSlice:
    """A slice of a track. track: the name of the track; flow: the id that joins slices that belong together; id: the id
    that `kafkascope explain` takes; what: further details, in words."""

    track: str
    name: str
    from_ns: int
    to_ns: int
    flow: str | None
    id: str | None
    what: str | None
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TracePoint:
    """The value of a counter from a time on. counter: the counter's name."""

    counter: str
    ts_ns: int
    count: int


_BROKER = "coalesce('node ' || node_id, server_ip || ':' || server_port)"
_SLICES = {
    "incidents": """
        select 'incidents' as track, kind || ': ' || coalesce(subject, '') as name, start_ns as from_ns,
            coalesce(end_ns, {end}) as to_ns, incident_id as flow, incident_id as id, sentence as what, evidence
        from incidents where severity <> 'info' and start_ns is not null order by from_ns, id""",
    "stalls": """
        select 'stalls' as track, coalesce(client_id, client_ip, group_id, '') || ' waits: ' || kind as name, from_ns,
            coalesce(to_ns, {end}) as to_ns, incident_id as flow, stall_id as id,
            coalesce(topic || coalesce('-' || partition, ''), group_id, transactional_id) as what, evidence
        from stalls order by from_ns, id""",
    "broker_states": f"""
        select {_BROKER} || ' as ' || host || ' sees it' as track, state as name, from_ns,
            coalesce(to_ns, {{end}}) as to_ns, null as flow, null as id, n_waiting || ' waited' as what,
            requests as evidence
        from broker_states where state <> 'serving' order by from_ns, track, name""",
    "rebalances": """
        select 'group ' || group_id as track, 'rebalance: ' || replace(trigger, '_', ' ') as name, start_ns as from_ns,
            coalesce(end_ns, {end}) as to_ns, incident_id as flow, rebalance_id as id, trigger_why as what, evidence
        from rebalances where start_ns is not null order by from_ns, id""",
    "transactions": """
        select 'transactions of ' || transactional_id as track, outcome as name, coalesce(begin_ns, {begin}) as from_ns,
            coalesce(end_ns, {end}) as to_ns, incident_id as flow, transactional_id || ':' || transaction_no as id,
            array_to_string(partitions, ', ') as what, evidence
        from transactions where transactional_id is not null order by from_ns, id""",
}
"""Table -> the queries for its slices."""
_STEPS = "select unnest(range({begin}, {end} + {step}, {step})) as ts_ns"
_STEP = "{begin} + (ts_ns - {begin}) // {step} * {step}"
_POINTS = {
    "requests": f"""
        with counted as (
            select {_BROKER} as broker, {_STEP} as ts_ns, count(*) as n,
                quantile_disc(broker_us, 0.99) filter (
                    api_name not in ('Fetch', 'ShareFetch', 'JoinGroup', 'SyncGroup') -- those are meant to wait
                ) as p99_us
            from requests where ts_ns between {{begin}} and {{end}} group by all
        ),
        whole as (
            select * from (select distinct broker from counted) cross join ({_STEPS})
            left join counted using (broker, ts_ns)
        )
        select broker || ': requests a second' as counter, ts_ns,
            (coalesce(n, 0) * 1000000000 // {{step}})::bigint as "count" from whole
        union all
        select broker || ': p99 of its own time, µs', ts_ns, coalesce(p99_us, 0)::bigint from whole
        order by counter, ts_ns""",
    "in_flight": f"""
        with changes as (
            select {_BROKER} as broker, ts_ns, 1 as n from requests where response_ns >= ts_ns
            union all select {_BROKER}, response_ns, -1 from requests where response_ns >= ts_ns
        ),
        running as (
            select broker, ts_ns, {_STEP} as step_ns, sum(n) over (partition by broker order by ts_ns, n) as n
            from changes
        ),
        stepped as ( -- the most in a step, and what is left after it
            select broker, step_ns, max(n) as n, arg_max(n, ts_ns) as after
            from running where ts_ns between {{begin}} and {{end}} group by all
        )
        select broker || ': requests in flight' as counter, step_ns as ts_ns, n::bigint as "count" from stepped
        union all
        select s.broker || ': requests in flight', s.step_ns + {{step}}, s.after::bigint
        from stepped s anti join stepped t on t.broker = s.broker and t.step_ns = s.step_ns + {{step}}
        order by counter, ts_ns""",
    "partition_flow": """
        select 'group ' || group_id || ': lag of ' || topic as counter, ts_ns, sum(lag_last)::bigint as "count"
        from partition_flow where group_id is not null and lag_last is not null group by all order by counter, ts_ns""",
}
"""Table -> the queries for its counters. The counter of requests in flight is made from the table of requests too."""


class ClusterTraceModel:
    """The rows. There are none of a table that the dataset lacks. Raises UsageError where a table cannot be read."""

    def __init__(self, database: Database, begin_ns: int) -> None:
        self._database, self._begin_ns = database, begin_ns
        last_ns = next(database.query("select max(last_ns) from captures")[1])[0]
        self._end_ns: int = begin_ns if last_ns is None else last_ns

    def slices(self) -> Iterator[TraceSlice]:
        """Yields the slices, table by table."""
        for table, query in _SLICES.items():
            if self._database.has(table):
                yield from select_each(self._database, self._with_times(query), TraceSlice)

    def points(self) -> Iterator[TracePoint]:
        """Yields the points, counter by counter."""
        for table, query in _POINTS.items():
            if self._database.has("requests" if table == "in_flight" else table):
                yield from select_each(self._database, self._with_times(query), TracePoint)

    def _with_times(self, query: str) -> str:
        step_ns = (self._end_ns - self._begin_ns) // MOST_POINTS
        least_ns = LEAST_STEP_MS * 1_000_000
        step = max(least_ns, -(-step_ns // least_ns) * least_ns)
        return query.format(begin=f"{self._begin_ns}::bigint", end=f"{self._end_ns}::bigint", step=f"{step}::bigint")
