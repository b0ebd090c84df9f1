"""`in_flight_saturated`: a producer waits for responses before it may send on."""

from collections.abc import Collection

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import at_least
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import clients_with_id, listed
from kafkascope_spark.stories.settings import setting, settings
from kafkascope_spark.stories.tables import CADENCES

# One finding per client id, as all its processes have the same settings.
_QUERY = """
select client_id, count(distinct client_instance_id) as n_clients, min(client_ip) as client_ip,
    if(count(distinct client_instance_id) > 1, null, min(client_instance_id)) as client_instance_id,
    array_sort(collect_set(software_name)) as software_names, min(first_ns) as first_ns, max(last_ns) as last_ns,
    collect_set(conn_id) as conn_ids, sum(n) as n,
    array_sort(collect_set(conn_id)) as evidence, max(p50_ms) as depth, max(max_ms) as deepest,
    array_sort(collect_set(cast(node_id as string))) as nodes
from (select conn_id, n, p50_ms, max_ms from saturated)
join (select conn_id, first_ns, last_ns, node_id from connections) using (conn_id)
left join connection_clients using (conn_id)
group by client_id"""


def _sentence(f: Facts) -> str:
    at = f", at broker {listed(f.nodes)}" if f.nodes else ""
    return (
        f"{clients_with_id(f.client_id, f.n_clients, f.client_ip)} had {f.depth} Produce requests in flight half of "
        f"the time, and up to {f.deepest}{at}, from {f.begin(f.first_ns)}"
    )


def _advice(libraries: Collection[str]) -> str:
    larger = settings(("batch_size", "linger", "compression"), libraries)
    limit_of = setting("in_flight", libraries, defaults=True)
    limits = f" {limit_of} limits the requests in flight." if limit_of else ""
    return (
        f"Send fewer and larger requests ({larger}); look at the brokers' time for Produce: with acks=all it waits for "
        f"the followers.{limits}"
    )


DETECTOR = Detector(
    reads={
        "saturated": Where(
            CADENCES, cadence="in_flight", n=at_least(limit.TINY_REQUESTS), p50_ms=at_least(limit.IN_FLIGHT)
        )
    },
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="in_flight_saturated",
    title="A producer has as many requests in flight as it may",
    severity="info",
    meaning="A producer that always waits for answers is as fast as the broker answers, not as fast as it could send; "
    "further records wait in its memory until their delivery timeout is over.",
    looks_at=f"Produce requests of a connection: at least {limit.TINY_REQUESTS}, half of them sent while "
    f"{limit.IN_FLIGHT} or more waited for an answer, themselves included.",
    advice=_advice(()),
    sources=("max.in.flight.requests.per.connection of the producer settings", "KIP-98"),
    detectors=(DETECTOR,),
)
