"""`shared_vip`: one address stands for several brokers, and requests reach brokers that are not the leader."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS
from kafkascope_spark.stories.findings.conditions import contains
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import BEHIND
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, listed, times

ELSEWHERE = ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR")
# One finding per client and address.
_QUERY = f"""
select client_instance_id, client_id, client_ip, concat(server_ip, ':', server_port) as server, node_id_why,
    count(*) as n, {sorted_set("api_name")} as apis, collect_set(conn_id) as conn_ids, min(ts_ns) as first_ns,
    max(ts_ns) as last_ns, {first_ids()} as evidence
from (select conn_id, request_id, ts_ns, api_name from refusals)
join (select conn_id, server_ip, server_port, node_id_why from shared_addresses) using (conn_id)
left join connection_clients using (conn_id)
group by client_instance_id, client_id, client_ip, server_ip, server_port, node_id_why"""


def _sentence(f: Facts) -> str:
    return (
        f"more than one broker is behind {f.server} ({f.node_id_why.partition(':')[0]}): {listed(f.apis)} of "
        f"{client(f.client_id, f.client_ip)} landed on one that does not lead or coordinate {times(f.n)}, "
        f"first at {f.begin(f.first_ns)}"
    )


DETECTOR = Detector(
    reads={
        "refusals": Where(ERRORS, error_name=ELSEWHERE),
        "shared_addresses": Where(CONNECTIONS, node_id=None, node_id_why=contains(BEHIND)),
    },
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
)
RULE = Rule(
    name="shared_vip",
    title="One address stands for several brokers",
    severity="error",
    meaning="Kafka clients must reach each broker by an address of its own: only the leader serves a "
    "topic-partition, only the coordinator a group. A load balancer, Kubernetes service or virtual IP in front of "
    "several brokers sends requests to any of them, and all but one refuse them.",
    looks_at="An address that Metadata names for several node ids, or that answers for several, and on it answers "
    "with NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR. A proxy with an address or port per broker is no such case.",
    advice="Give every broker an advertised.listeners entry of its own (its host name, or a port per broker on the "
    "load balancer). A shared address is good for bootstrapping only.",
    sources=("KIP-103", "org.apache.kafka.clients.MetadataCache"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"listener", "wrong_broker"})),
)
