"""`held_for_min_bytes`: records wait in the broker because a consumer requests many bytes at once (fetch.min.bytes)."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, at_least, column, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.settings import setting

_HELD = Groups(
    Where(
        REQUESTS,
        column("broker_us") >= column("max_wait_ms") * 0.95e3,
        column("record_bytes") < column("min_bytes"),
        api_key=api_keys.FETCH,
        n_records=above(0),
        max_wait_ms=at_least(limit.HELD_MS),
    ),
    per=("conn_id",),
    having=count() >= limit.HELD,
)
# One finding per client. `held`: Fetch requests that the broker answered when max_wait_ms was over, with records but
# fewer bytes than min_bytes. Applications set the times of records, so only plausible ones count.
_QUERY = f"""
with held as (
    select r.request_id, r.conn_id, r.ts_ns, r.response_ns, r.max_wait_ms, r.min_bytes, r.record_bytes
    from requests r left semi join held_on_connection using (conn_id)
    where r.api_key = {api_keys.FETCH} and r.n_records > 0 and r.max_wait_ms >= {limit.HELD_MS}
        and r.record_bytes < r.min_bytes and r.broker_us >= cast(r.max_wait_ms as bigint) * 950
), waited as (
    select h.request_id, max(h.response_ns - cast(p.first_timestamp_ms as bigint) * 1000000) as age_ns
    from held h join partitions p on p.request_id = h.request_id and p.direction = 'response'
    where p.first_timestamp_ms between h.ts_ns div 1000000 - {limit.HELD_MS} and h.response_ns div 1000000
    group by h.request_id
)
select client_instance_id, client_id, client_ip, software_name, count(*) as n, min(h.ts_ns) as first_ns,
    max(h.response_ns) as last_ns, max(h.max_wait_ms) as max_wait_ms, max(h.min_bytes) as min_bytes,
    max(h.record_bytes) as most_bytes, max(w.age_ns) as age_ns,
    {first_ids("h.request_id", "h.ts_ns")} as evidence, array_sort(collect_set(h.conn_id)) as conn_ids
from held h join connection_clients c on c.conn_id = h.conn_id left join waited w on w.request_id = h.request_id
where {NO_BROKER}
group by client_instance_id, client_id, client_ip, software_name"""


def _sentence(f: Facts) -> str:
    age = "" if f.age_ns is None else f"; the oldest record came {duration(f.age_ns)} after it was made"
    return (
        f"The brokers held {f.n} Fetch of {client(f.client_id, f.client_ip)} with records for {f.max_wait_ms} ms, "
        f"first at {f.begin(f.first_ns)}: it asks for {f.min_bytes} bytes at least, and there were {f.most_bytes} at "
        f"most{age}"
    )


def _advice(f: Facts) -> str:
    names = [setting(concept, f.libraries, defaults=True) for concept in ("fetch_min", "fetch_wait")]
    return (
        "Brokers and network are not the cause. If records should arrive sooner, lower "
        f"{listed([name for name in names if name])} of {client(f.client_id, f.client_ip)} (now {f.min_bytes} bytes "
        f"and {f.max_wait_ms} ms): brokers answer as soon as one of the two is reached. If the consumer collects "
        "large batches on purpose, change nothing."
    )


RULE = Rule(
    name="held_for_min_bytes",
    title="Records wait in the broker because a consumer asks for many bytes at once",
    severity="warning",
    meaning="A broker answers Fetch when it has the least bytes that the consumer asks for, or when the longest wait "
    "is over. Where a topic gets fewer bytes than that, each record waits for the time to pass, and nothing is slow.",
    looks_at=f"Fetch with max_wait_ms of {limit.HELD_MS} or more that brokers answered when that was over, with "
    f"records of fewer bytes than min_bytes, {limit.HELD} times or more on one connection. Consumers that find nothing "
    "wait as long, and are left out; so is who waits for less, as with the defaults of clients.",
    advice="Lower fetch.min.bytes or fetch.max.wait.ms of the consumer, unless it collects large batches on purpose.",
    sources=("fetch.min.bytes and fetch.max.wait.ms of the consumer settings", "org.apache.kafka.server.purgatory"),
    detectors=(
        Detector(
            reads={"held_on_connection": _HELD},
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
