"""`behind_long_poll`: requests wait in the broker behind a Fetch on the same connection that waits for records."""

from collections.abc import Collection

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables
from kafkascope_spark.stories.findings.conditions import at_least, column, count, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.settings import settings

_LEAST_US = limit.BEHIND_POLL_MS * 1_000
_HELD = Where(
    REQUESTS, column("broker_us") < column("queued_us"), queued_us=at_least(_LEAST_US), api_name=none_of("Fetch")
)
"""Requests that waited longer for the previous response than the broker took for them."""
_N_HELD = count()

# One finding per client and API. A broker serves the requests of a connection in order: a request waited for the
# response before its own; requests that were sent in between waited for the same Fetch. A Fetch that took longer than
# its max_wait_ms was itself delayed. Only connections that have both are sorted, because sorting costs more than all
# the rest.
_QUERY = f"""
with answers as (
    select conn_id, request_id, api_name, ts_ns, request_packet_no, response_packet_no, queued_us, broker_us,
        last(if(api_name = 'Fetch',
                struct(max_wait_ms, latency_us, response_ns, request_packet_no, response_packet_no), null), true)
            over (partition by conn_id order by response_ns, response_packet_no, request_id
                rows between unbounded preceding and 1 preceding) as before
    from requests left semi join held using (conn_id) left semi join polls using (conn_id)
    where response_ns is not null
), waits as (
    select client_instance_id, api_name, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        percentile(queued_us, 0.5) as queued_us, percentile(broker_us, 0.5) as broker_us,
        max(before.max_wait_ms) as max_wait_ms,
        min_by(struct(request_packet_no, response_packet_no, before), struct(ts_ns, request_id)) as example,
        min_by(request_id, struct(ts_ns, request_id), 100) as evidence, collect_set(conn_id) as conn_ids
    from answers join connection_clients using (conn_id)
    where api_name <> 'Fetch' and before.response_ns > ts_ns and before.max_wait_ms > 0
        and before.latency_us <= (cast(before.max_wait_ms as bigint) + {limit.BEHIND_POLL_MS}) * 1000
        and queued_us >= {_LEAST_US} and broker_us < queued_us
    group by client_instance_id, api_name having n >= {limit.BEHIND_POLLS}
), habits as (
    select client_instance_id, api_name, count(*) as n_all
    from requests left semi join (select conn_id from requests where queued_us >= {_LEAST_US}) using (conn_id)
        join connection_clients using (conn_id)
    where response_ns is not null and api_name <> 'Fetch'
    group by client_instance_id, api_name
)
select client_instance_id, c.client_id, c.client_ip, c.software_name, api_name, n_all, n, w.first_ns, w.last_ns,
    queued_us, broker_us, max_wait_ms, example, evidence, w.conn_ids
from waits w join habits using (client_instance_id, api_name) join clients c using (client_instance_id)
where c.kind <> 'broker' and 2 * n >= n_all"""


def _many_wait(tables: Tables) -> bool:
    """Whether enough requests of an API waited on connections with long polls for a finding."""
    held = tables["held"].filter(pc.is_in(tables["held"]["conn_id"], flat(tables["polls"]["conn_id"])))
    n_of_api = held.group_by("api_name").aggregate([(str(_N_HELD), "sum")]).column(f"{_N_HELD}_sum")
    return bool(pc.any(pc.greater_equal(n_of_api, limit.BEHIND_POLLS)).as_py())


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
    reads={
        "held": Groups(_HELD, per=("conn_id", "api_name"), having=_N_HELD >= 1),
        "polls": Groups(Where(REQUESTS, api_name="Fetch", max_wait_ms=at_least(1)), per=("conn_id",)),
    },
    candidates=Candidates({"held": ("conn_id", "api_name", str(_N_HELD)), "polls": ("conn_id",)}, _many_wait),
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
    follows=Follows(kinds=frozenset({"member"})),
)
