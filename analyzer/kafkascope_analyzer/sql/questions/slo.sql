-- Service levels by topic and group: minutes without a stall, time to be accepted and to be fetched (p50, p99), lag.
with minutes as (
    select distinct cluster, topic, group_id, date_trunc('minute', ts) as minute from partition_flow
),
stalled as (
    select distinct m.cluster, m.topic, m.group_id, m.minute
    from minutes m join stalls s
        on s.cluster = m.cluster and s.topic = m.topic and (s.group_id is null or s.group_id = m.group_id)
        and s.from_ts < m.minute + interval 1 minute and coalesce(s.to_ts, s.from_ts + to_milliseconds(s.waited_ms)) >= m.minute
),
available as (
    select m.cluster, m.topic, m.group_id, count(*) as n_minutes, count(s.minute) as n_minutes_stalled
    from minutes m left join stalled s on s.cluster = m.cluster and s.topic = m.topic
        and s.group_id is not distinct from m.group_id and s.minute = m.minute
    group by all
),
classes as (
    select cluster, topic, group_id, 'acked' as what, unnest(created_to_acked) as c from partition_flow
    union all
    select cluster, topic, group_id, 'fetched', unnest(acked_to_fetched) from partition_flow
),
summed as (
    select cluster, topic, group_id, what, c.from_us as from_us, sum(c.n) as n from classes group by all
),
ranked as (
    select *, sum(n) over (partition by cluster, topic, group_id, what order by from_us rows unbounded preceding) as upto,
        sum(n) over (partition by cluster, topic, group_id, what) as total
    from summed
),
latencies as (
    select cluster, topic, group_id,
        min(from_us) filter (what = 'acked' and upto >= 0.5 * total) as acked_p50_us,
        min(from_us) filter (what = 'acked' and upto >= 0.99 * total) as acked_p99_us,
        min(from_us) filter (what = 'fetched' and upto >= 0.5 * total) as fetched_p50_us,
        min(from_us) filter (what = 'fetched' and upto >= 0.99 * total) as fetched_p99_us
    from ranked group by all
),
lags as (
    select cluster, topic, group_id, max(lag) as lag_max, arg_max(lag, ts_ns) as lag_last
    from (select cluster, topic, group_id, ts_ns, sum(lag_last) as lag from partition_flow group by all)
    group by all
)
select a.topic, a.group_id, a.n_minutes, a.n_minutes_stalled,
    round(100.0 * (a.n_minutes - a.n_minutes_stalled) / a.n_minutes, 3) as available_percent,
    l.acked_p50_us, l.acked_p99_us, l.fetched_p50_us, l.fetched_p99_us, g.lag_max, g.lag_last, a.cluster
from available a
left join latencies l on l.cluster = a.cluster and l.topic = a.topic and l.group_id is not distinct from a.group_id
left join lags g on g.cluster = a.cluster and g.topic = a.topic and g.group_id is not distinct from a.group_id
order by available_percent, a.topic, a.group_id, a.cluster
