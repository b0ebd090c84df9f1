"""`throttled`: a quota made clients wait."""

import shlex
from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.findings.shared_queries import NO_BROKER
from kafkascope_spark.findings.sql import SEEN
from kafkascope_spark.findings.wording import client, duration, times
from kafkascope_spark.incidents.observed import address
from kafkascope_spark.settings import settings

QUOTAS = {
    "Produce": "producer_byte_rate",
    "Fetch": "consumer_byte_rate",
    "CreateTopics": "controller_mutation_rate",
    "CreatePartitions": "controller_mutation_rate",
    "DeleteTopics": "controller_mutation_rate",
}
OTHER_QUOTA = "request_percentage"
FEWEST = 3
"""Throttled requests from which on the rate between them says what the quota is about."""
# One finding per client and API.
_QUERY = f"""
select client_instance_id, client_id, client_ip, principal, api_name, {SEEN}, sum(throttle_ms) as throttled_ms,
    max(throttle_ms) as longest_ms, sum(record_bytes) as moved_bytes,
    min(concat(server_ip, ':', server_port)) as server,
    if(sum(throttle_ms) >= {limit.THROTTLED_MS}, 'warning', 'info') as severity
from throttled_requests left join (
    select conn_id, client_instance_id, kind, principal from connection_clients
) using (conn_id)
where {NO_BROKER}
group by client_instance_id, client_id, client_ip, principal, api_name"""


def _sentence(f: Facts) -> str:
    rate = _bytes_per_second(f)
    passed = "" if rate is None else f"; about {rate} bytes/s went through"
    return (
        f"{client(f.client_id, f.client_ip)} was throttled {times(f.n)} in {f.api_name}, by "
        f"{duration(f.throttled_ms * 1_000_000)} in all and up to {duration(f.longest_ms * 1_000_000)}, "
        f"first at {f.begin(f.first_ns)}{passed}"
    )


def _bytes_per_second(f: Facts) -> int | None:
    """What went through while the client was throttled: about what the quota allows."""
    if f.n < FEWEST or not f.moved_bytes:
        return None
    span_ns = f.last_ns - f.first_ns + f.longest_ms * 1_000_000
    return int((2 * f.moved_bytes * 1_000_000_000 + span_ns) // (2 * span_ns))


def _advice(f: Facts) -> str:
    rate = _bytes_per_second(f)
    about = "" if rate is None else f" (about {rate} bytes/s went through)"
    quota = QUOTAS.get(f.api_name, OTHER_QUOTA)
    user = f.principal is not None
    name = f.principal.removeprefix("User:") if user else f.client_id or "CLIENT_ID"
    entity = f"--entity-type {'users' if user else 'clients'} --entity-name {shlex.quote(name)}"
    value = "RATE" if rate is None else 2 * rate
    return (
        f"Raise the quota {quota} of {'user' if user else 'client id'} {name}{about}: kafka-configs.sh "
        f"--bootstrap-server {address(f.server)} --alter {entity} --add-config {quota}={value}; or make the client ask "
        f"for less{_less(f.api_name, f.libraries)}."
    )


def _less(api_name: str, libraries: Collection[str]) -> str:
    concepts = {"Produce": ("compression", "batch_size", "linger"), "Fetch": ("fetch_min", "fetch_wait")}.get(api_name)
    names = settings(concepts, libraries) if concepts else None
    return f" ({names})" if names else ""


DETECTOR = Detector(
    reads={"throttled_requests": Read(REQUESTS, "throttle_ms > 0")},
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
    "from the API, and the rate is what went through meanwhile. Brokers' own throttles are left out. Less than "
    f"{limit.THROTTLED_MS} ms in all is for information.",
    advice="Raise the quota (producer_byte_rate for Produce, consumer_byte_rate for Fetch, controller_mutation_rate "
    "for topics, else request_percentage) of the client-id or user with kafka-configs.sh, or make the client ask for "
    "less (compression, larger batches, a larger minimum of bytes for Fetch).",
    sources=("KIP-13", "KIP-124", "KIP-219", "KIP-599", "org.apache.kafka.server.quota.ClientQuotaManager"),
    detectors=(DETECTOR,),
)
