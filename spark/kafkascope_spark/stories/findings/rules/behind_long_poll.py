"""`behind_long_poll`: requests wait in the broker because a Fetch before them on the same connection does."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import at_least
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.settings import settings

# One finding per client and API. A broker serves the requests of a connection in their order: what came before the
# response is the response that it waited for. A Fetch that took longer than it may wait was not at fault itself.
_QUERY = f"""
with answers as (
    select conn_id, request_id, api_name, ts_ns, request_packet_no, response_packet_no, queued_us, broker_us,
        lag(struct(api_name, max_wait_ms, latency_us, request_packet_no, response_packet_no))
            over (partition by conn_id order by response_ns, response_packet_no, request_id) as before
    from requests left semi join (select conn_id from held) using (conn_id)
    where response_ns is not null
), answered as (
    select *, before.api_name = 'Fetch' and before.max_wait_ms > 0
        and before.latency_us <= (cast(before.max_wait_ms as bigint) + {limit.BEHIND_POLL_MS}) * 1000
        and queued_us >= {limit.BEHIND_POLL_MS} * 1000 and broker_us < queued_us as is_held
    from answers where api_name <> 'Fetch'
)
select client_instance_id, c.client_id, c.client_ip, c.software_name, api_name, count(*) as n_all,
    count_if(is_held) as n, min(if(is_held, ts_ns, null)) as first_ns, max(if(is_held, ts_ns, null)) as last_ns,
    percentile(if(is_held, queued_us, null), 0.5) as queued_us,
    percentile(if(is_held, broker_us, null), 0.5) as broker_us,
    max(if(is_held, before.max_wait_ms, null)) as max_wait_ms,
    min_by(struct(request_packet_no, response_packet_no, before), if(is_held, struct(ts_ns, request_id), null))
        as example,
    min_by(request_id, if(is_held, struct(ts_ns, request_id), null), 100) as evidence,
    collect_set(if(is_held, conn_id, null)) as conn_ids
from answered join connection_clients using (conn_id) join clients c using (client_instance_id)
where c.kind <> 'broker'
group by client_instance_id, c.client_id, c.client_ip, c.software_name, api_name
having n >= {limit.BEHIND_POLLS} and 2 * n >= n_all"""


def _sentence(f: Facts) -> str:
    held, poll = f.example, f.example["before"]
    return (
        f"{f.n:,} of {f.n_all:,} {f.api_name} requests of {client(f.client_id, f.client_ip)} waited behind a Fetch on "
        f"the same connection, half of them {duration(int(f.queued_us) * 1000)} or longer, from {f.begin(f.first_ns)} "
        f"to {f.at(f.last_ns)}. A broker answers the requests of a connection in order, and the Fetch waited for "
        f"records (long poll, up to {f.max_wait_ms} ms); for {f.api_name} itself the broker took "
        f"{duration(int(f.broker_us) * 1000)}. First: packet {poll['response_packet_no']} answers the Fetch of packet "
        f"{poll['request_packet_no']}, and only then packet {held['response_packet_no']} the request of packet "
        f"{held['request_packet_no']}"
    )


def _advice(libraries: Collection[str]) -> str:
    lower = settings(("fetch_wait", "fetch_min"), libraries)
    return (
        "The brokers are not slow. Let the client use another connection for its Fetch than for what must not wait, as "
        "the Java client does for its group coordinator (another client object, or a release of the library that does "
        f"so){f'; or lower {lower}, so that a Fetch is answered sooner' if lower else ''}."
    )


DETECTOR = Detector(
    reads={"held": Where(REQUESTS, queued_us=at_least(limit.BEHIND_POLL_MS * 1_000))},
    query=_QUERY,
    subject=fact("api_name"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="behind_long_poll",
    title="Requests wait behind a long poll on the same connection",
    severity="warning",
    meaning="A broker answers the requests of a connection one after the other. A Fetch that finds no records waits "
    "for them (fetch.max.wait.ms), and whatever the client sends behind it on the same connection waits as long: "
    "commits and heartbeats look slow, while the broker needs a millisecond for them.",
    looks_at="Requests that waited for the response before theirs on the connection "
    f"(requests.queued_us) for {limit.BEHIND_POLL_MS} ms or longer, and longer than the broker then took for them, "
    "where that response was to a Fetch which waited no longer than it may (max_wait_ms). A finding needs "
    f"{limit.BEHIND_POLLS} such requests of a client and API, and half of its requests of that API: some wait behind a "
    "Fetch in every client that uses one connection for each broker.",
    advice=_advice(()),
    sources=("Kafka protocol guide, Network", "KIP-74", "fetch.max.wait.ms of the consumer settings"),
    detectors=(DETECTOR,),
)
