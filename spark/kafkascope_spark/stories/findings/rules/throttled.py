"""`throttled`: a quota made clients wait."""

import shlex
from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, any_of
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN
from kafkascope_spark.stories.findings.wording import client, duration, times
from kafkascope_spark.stories.incidents.failures.observed import address
from kafkascope_spark.stories.settings import setting, settings

QUOTAS = {
    "Produce": "producer_byte_rate",
    "Fetch": "consumer_byte_rate",
    "CreateTopics": "controller_mutation_rate",
    "CreatePartitions": "controller_mutation_rate",
    "DeleteTopics": "controller_mutation_rate",
}
OTHER_QUOTA = "request_percentage"
WINDOW_MS = 10_500
"""Brokers measure a rate over ten full seconds and the current one (quota.window.num, quota.window.size.seconds)."""
LONGEST_FOR_TIME_MS = 1000
"""A quota of request time (request_percentage) never mutes for longer than this second: a client that is muted for
longer exceeded a byte rate."""
LONG_MS = 10_000
"""The shortest of the usual timeouts of requests."""
# Bytes that brokers counted when they muted a producer: all that its client id sent them in the measured time.
_MEASURED = f"""
select *, sum(if(api_name = 'Produce', request_bytes, null)) over (
    partition by client_id, server_ip, server_port order by response_ns
    range between {WINDOW_MS * 1_000_000} preceding and current row) as counted_bytes
from quota_requests left semi join (
    select client_id as muted_id, server_ip as by_ip, server_port as by_port from quota_requests where throttle_ms > 0
) on client_id <=> muted_id and server_ip <=> by_ip and server_port <=> by_port"""
# One finding per client and API. A broker mutes for (counted bytes - quota * window) / quota.
_QUERY = f"""
with measured as ({_MEASURED})
select client_instance_id, client_id, client_ip, principal, api_name, {SEEN}, sum(throttle_ms) as throttled_ms,
    max(throttle_ms) as longest_ms, min(concat(server_ip, ':', server_port)) as server,
    percentile(if(throttle_ms > {LONGEST_FOR_TIME_MS} and api_name = 'Produce',
        cast(counted_bytes as double) * 1000 / (throttle_ms + {WINDOW_MS}L), null), 0.5) as allowed_per_s,
    if(sum(throttle_ms) >= {limit.THROTTLED_MS}, 'warning', 'info') as severity
from measured left join (
    select conn_id, client_instance_id, kind, principal from connection_clients
) using (conn_id)
where throttle_ms > 0 and {NO_BROKER}
group by client_instance_id, client_id, client_ip, principal, api_name"""


def _sentence(f: Facts) -> str:
    rate = _allowed_per_second(f)
    allowed = "" if rate is None else f"; by these times each broker allows it about {rate} bytes/s"
    return (
        f"{client(f.client_id, f.client_ip)} was throttled {times(f.n)} in {f.api_name}, by "
        f"{duration(f.throttled_ms * 1_000_000)} in all and up to {duration(f.longest_ms * 1_000_000)}, "
        f"first at {f.begin(f.first_ns)}{allowed}"
    )


def _allowed_per_second(f: Facts) -> int | None:
    """Returns the quota, rounded to two digits, because brokers count slightly different bytes than those of
    requests."""
    return None if f.allowed_per_s is None else int(float(f"{f.allowed_per_s:.1e}"))


def _advice(f: Facts) -> str:
    rate = _allowed_per_second(f)
    quota = QUOTAS.get(f.api_name, OTHER_QUOTA)
    user = f.principal is not None
    name = f.principal.removeprefix("User:") if user else f.client_id or "CLIENT_ID"
    entity = f"--entity-type {'users' if user else 'clients'} --entity-name {shlex.quote(name)}"
    value = "RATE" if rate is None else 2 * rate
    # A client with a principal has authenticated: the listener uses SASL or TLS.
    tool = f"--bootstrap-server {address(f.server)}{' --command-config CLIENT.properties' if user else ''}"
    return (
        f"Raise the quota {quota} of {'user' if user else 'client id'} {name}{_who_applies(quota)}: "
        f"kafka-configs.sh {tool} --alter {entity} --add-config {quota}={value}; or "
        f"make the client ask for less{_less(f.api_name, f.libraries)}.{_outlasts(f)}"
    )


def _outlasts(f: Facts) -> str:
    """Returns what happens if clients time out before brokers stop muting them."""
    if f.longest_ms < LONG_MS:
        return ""
    limit_name = setting("request_timeout", f.libraries, defaults=True)
    return (
        " A broker reads nothing from a client that it mutes: requests that were sent already wait meanwhile, and "
        f"where {limit_name} is shorter, the client gives them up, connects again and sends them again "
        "(KAFKA-16083). The broker and the network are not the cause."
    )


def _who_applies(quota: str) -> str:
    return "" if quota == "controller_mutation_rate" else ", which each broker applies by itself"


def _less(api_name: str, libraries: Collection[str]) -> str:
    concepts = {"Produce": ("compression", "batch_size", "linger"), "Fetch": ("fetch_min", "fetch_wait")}.get(api_name)
    names = settings(concepts, libraries) if concepts else None
    return f" ({names})" if names else ""


DETECTOR = Detector(
    reads={
        "quota_requests": Where(REQUESTS, any_of(throttle_ms=above(0), api_name="Produce")),
        "throttled_requests": Where(REQUESTS, throttle_ms=above(0)),
    },
    query=_QUERY,
    subject=fact("api_name"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="throttled",
    title="A quota made a client wait",
    severity="warning",
    meaning="The broker reported that the client exceeded a quota, and for how long it is muted. Since KIP-219 the "
    "answer comes at once and the client has to wait; the broker reads nothing more from it meanwhile.",
    looks_at="throttle_time_ms above zero in an answer. The quota itself is not on the wire: which one it was follows "
    "from the API. The byte rate of a producer follows from how long it was muted and what it had sent to that broker "
    "in the seconds before, with the default quota.window.num and quota.window.size.seconds. Brokers' own throttles "
    f"are left out. Less than {limit.THROTTLED_MS} ms in all is for information.",
    advice="Raise the quota (producer_byte_rate for Produce, consumer_byte_rate for Fetch, controller_mutation_rate "
    "for topics, else request_percentage) of the client-id or user with kafka-configs.sh, or make the client ask for "
    "less (compression, larger batches, a larger minimum of bytes for Fetch).",
    sources=("KIP-13", "KIP-124", "KIP-219", "KIP-599", "org.apache.kafka.server.quota.ClientQuotaManager"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"quota"})),
)
