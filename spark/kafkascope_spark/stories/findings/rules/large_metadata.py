"""`large_metadata`: a client asks again and again for the Metadata of many topics."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import at_least, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.settings import setting

_LARGE = Groups(
    Where(REQUESTS, api_key=api_keys.METADATA, status="ok", response_bytes=at_least(limit.LARGE_METADATA_BYTES)),
    per=("client_ip",),
    having=count() >= limit.LARGE_METADATA,
)
# One finding per client id and address: a program may make a client each time.
_QUERY = f"""
with large as (
    select r.request_id, r.conn_id, r.ts_ns, r.response_bytes, r.broker_us, c.client_instance_id, c.client_id,
        c.client_ip, c.software_name
    from requests r left semi join large_of_host using (client_ip) join connection_clients c on r.conn_id = c.conn_id
    where r.api_key = {api_keys.METADATA} and r.status = 'ok' and r.response_bytes >= {limit.LARGE_METADATA_BYTES}
        and {NO_BROKER}
)
select client_id, client_ip, min(client_instance_id) as client_instance_id,
    array_sort(collect_set(software_name)) as software_names, count(*) as n, min(ts_ns) as first_ns,
    max(ts_ns) as last_ns, sum(response_bytes) as n_bytes, percentile_approx(broker_us, 0.5) as took_us,
    {first_ids()} as evidence, array_sort(collect_set(conn_id)) as conn_ids
from large group by client_id, client_ip
having count(*) >= {limit.LARGE_METADATA}
    and max(ts_ns) - min(ts_ns) <= (count(*) - 1) * cast({limit.LARGE_METADATA_APART_S} as bigint) * 1000000000"""


def _sentence(f: Facts) -> str:
    every = duration((f.last_ns - f.first_ns) // max(f.n - 1, 1))
    return (
        f"{client(f.client_id, f.client_ip)} asked for Metadata {f.n} times from {f.begin(f.first_ns)} on, one time in "
        f"{every}, and got {f.n_bytes // f.n / 1e3:.0f} kB each time: it asks for all topics, or for very many. "
        f"Brokers took {duration(f.took_us * 1000)} for each (median)"
    )


def _advice(f: Facts) -> str:
    return (
        f"Let {client(f.client_id, f.client_ip)} ask more rarely (the interval of an exporter or of its refresh; "
        f"{setting('metadata_age', f.libraries)} in clients), or only for the topics that it uses (a filter for "
        "topics, no subscription by pattern, no listing of topics as a health check). Brokers compute such a "
        "response for each request."
    )


RULE = Rule(
    name="large_metadata",
    title="A client asks again and again for the Metadata of many topics",
    severity="warning",
    meaning="The answer has each partition of each topic: hundreds of kilobytes in a cluster of some thousand "
    "partitions. A program that asks every second costs brokers and network more than its work.",
    looks_at=f"Metadata responses of {limit.LARGE_METADATA_BYTES // 1000} kB or more to one client id and address: "
    f"{limit.LARGE_METADATA} or more, {limit.LARGE_METADATA_APART_S} s or less from one to the next on average. "
    "Brokers are left out.",
    advice="Let it ask more rarely, or only for the topics that it uses.",
    sources=("metadata.max.age.ms of the client settings", "org.apache.kafka.common.requests.MetadataRequest"),
    detectors=(
        Detector(
            reads={"large_of_host": _LARGE},
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
