"""`late_fetches`: a broker takes long for the records of one client, but not for those of others."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, column, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration

_LATE = Groups(
    Where(
        REQUESTS,
        column("broker_us") > (column("max_wait_ms") * 1e3 + limit.LATE_FETCH_MS * 1e3),
        api_key=api_keys.FETCH,
        n_records=above(0),
        throttle_ms=0,
    ),
    per=("conn_id",),
    having=count() >= limit.LATE_FETCHES,
)
# One finding per client and broker. `others`: responses of the broker to others at that time; `behind`: distance of the
# records from the end of the log.
_QUERY = f"""
with mine as (
    select r.*, o.client_instance_id, o.client_id as from_id, o.client_ip as from_ip,
        r.broker_us > (cast(r.max_wait_ms as bigint) + {limit.LATE_FETCH_MS}) * 1000 and r.throttle_ms = 0 as is_late
    from requests r left semi join late using (conn_id) join connection_clients o on r.conn_id = o.conn_id
    where r.api_key = {api_keys.FETCH} and r.n_records > 0 and r.status = 'ok' and {NO_BROKER}
), each as (
    select client_instance_id, from_id as client_id, from_ip as client_ip, node_id,
        count_if(is_late) as n, count(*) as n_all,
        min(if(is_late, ts_ns, null)) as first_ns, max(if(is_late, response_ns, null)) as last_ns,
        cast(percentile(if(is_late, broker_us, null), 0.5) as bigint) * 1000 as took_ns,
        max(max_wait_ms) as max_wait_ms,
        {first_ids("if(is_late, request_id, null)")} as evidence, collect_set(conn_id) as conn_ids
    from mine where node_id is not null
    group by client_instance_id, from_id, from_ip, node_id
    having n >= {limit.LATE_FETCHES} and 2 * n >= n_all
), others as (
    select e.client_instance_id, e.node_id, count(*) as n_others,
        cast(percentile(r.broker_us, 0.5) as bigint) * 1000 as others_ns
    from each e join requests r on r.node_id = e.node_id and r.ts_ns between e.first_ns and e.last_ns
        and not array_contains(e.conn_ids, r.conn_id)
    where r.api_key in ({api_keys.PRODUCE}, {api_keys.FETCH}) and r.n_records > 0 and r.status = 'ok'
    group by e.client_instance_id, e.node_id
), behind as (
    select m.client_instance_id, m.node_id,
        max_by(struct(p.topic, p.partition, p.high_watermark - p.last_offset - 1 as n_behind),
            p.high_watermark - p.last_offset) as far
    from mine m join partitions p on m.request_id = p.request_id
    where m.is_late and p.direction = 'response' and p.n_records > 0
    group by m.client_instance_id, m.node_id
)
select each.*, n_others, others_ns, far
from each join others using (client_instance_id, node_id) join behind using (client_instance_id, node_id)
where n_others >= {limit.LATE_FETCHES} and 10 * others_ns <= took_ns"""


def _sentence(f: Facts) -> str:
    far = f.far
    return (
        f"Broker {f.node_id} took {duration(f.took_ns)} (median) for {f.n} of {f.n_all} Fetch with records of "
        f"{client(f.client_id, f.client_ip)}, which may wait for {f.max_wait_ms} ms, from {f.begin(f.first_ns)} to "
        f"{f.at(f.last_ns)}. It answered {counted(f.n_others, 'request')} with records of others meanwhile, half of "
        f"them within {duration(max(f.others_ns, 1_000))}. What the client read of {far['topic']}-{far['partition']} "
        f"lay up to {far['n_behind']:,} records before the end of the log"
    )


RULE = Rule(
    name="late_fetches",
    title="A broker takes long for the records of one client",
    severity="warning",
    meaning="A broker finds the newest records in memory. Older ones it reads from disk, or from remote storage "
    "(KIP-405), and a Fetch waits for that, beyond what it asked for. Clients that read at the end of the log, and "
    "producers, notice nothing.",
    looks_at=f"Fetch with records for which the broker took {limit.LATE_FETCH_MS} ms or more beyond max_wait_ms, "
    f"{limit.LATE_FETCHES} or more of a client at a broker, half of those with records there, without a quota's "
    "throttling, while what others got there took a tenth of that or less (median).",
    advice="The network and the other clients work: the storage is slow for old records. See reads of the "
    "broker's disks at that time, and where the topic has remote.storage.enable the broker's log and metrics of remote "
    "fetches. Until that is faster let the client ask for more at once, so that it waits less often (fetch.max.bytes "
    "and max.partition.fetch.bytes (Java names)); its lag is no sign of a slow application.",
    sources=("KIP-405", "fetch.max.wait.ms of the consumer settings"),
    detectors=(
        Detector(
            reads={"late": _LATE},
            query=_QUERY,
            subject=lambda f: f"broker {f.node_id}",
            sentence=_sentence,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
)
