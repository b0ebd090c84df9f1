"""Percentiles of latencies in bounded memory, the same whatever the order of the requests.

DuckDB counts latencies in histogram steps, 128 for each doubling: a percentile is the lower edge of its step, at most
0.8 % below the true value. (A t-digest would be smaller, but its percentiles depend on the order of its input.)
"""

from collections.abc import Sequence

STEPS_LOG2 = 7
_WHOLE = 2 << STEPS_LOG2
_SHIFT = f"(floor(log2({{us}}))::integer - {STEPS_LOG2})"
STEP_SQL = f"case when {{us}} < {_WHOLE} then greatest({{us}}, 0) else (({{us}}) >> {_SHIFT}) << {_SHIFT} end"
"""SQL for the lower edge of the step that the expression `us`, a bigint, is in."""


MEANT_TO_WAIT = ("Fetch", "ShareFetch", "JoinGroup", "SyncGroup")
"""APIs whose requests a broker holds on purpose: until there are records, or until other members join."""
_IS_OF_BROKERS = "list_has_any(coalesce(roles, []), ['inter_broker', 'controller'])"
OF_CLIENTS_SQL = f"(select conn_id from connections where not {_IS_OF_BROKERS})"
"""SQL of the connections that are not the brokers' own."""
OF_BROKERS_SQL = f"select conn_id, coalesce(first_ns, 0) from connections where {_IS_OF_BROKERS}"
"""SQL of the brokers' own connections, with the time of their first packet."""


def percentiles_sql(keys: dict[str, str], us: str, source: str) -> str:
    """Returns the query that gives for each group the number of durations (n), and their p50_us, p99_us and max_us.

    keys: name -> expression of each grouping column; us: the expression of the duration; rows where it is null are left
    out.
    """
    named = ", ".join(f"{expression} as {name}" for name, expression in keys.items())
    steps = f"""
    select {", ".join(keys)}, {STEP_SQL.format(us="us")} as step, count(*) as n, max(us) as longest
    from (select {named}, ({us})::bigint as us from {source}) where us is not null group by all"""
    return percentiles_of_steps_sql(list(keys), steps)


def percentiles_of_steps_sql(keys: Sequence[str], steps: str) -> str:
    """Returns the query that gives the same from counted durations. steps: query for the number of durations in each
    step (step, n) and the longest of them (longest) by the keys."""
    names = ", ".join(keys)
    return f"""
    with steps as ({steps}), ranked as (
        select *, sum(n) over (partition by {names} order by step) as n_up_to,
            sum(n) over (partition by {names}) as n_all
        from steps
    )
    select {names}, any_value(n_all)::bigint as n, min(step) filter (100 * n_up_to >= 50 * n_all) as p50_us,
        min(step) filter (100 * n_up_to >= 99 * n_all) as p99_us, greatest(max(longest), 0) as max_us
    from ranked group by {names}
    """
