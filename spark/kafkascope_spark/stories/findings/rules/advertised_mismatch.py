"""`advertised_mismatch`: the address that is advertised for one broker answers as another."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS
from kafkascope_spark.stories.findings.conditions import contains
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import counted

ANOTHER = ", but answers for "
"""Part of connections.node_id_why for such an address."""
_REFUSALS = Where(
    ERRORS,
    error_name=("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "FENCED_LEADER_EPOCH", "NOT_COORDINATOR"),
)
# One finding per address that refused something. If any server accepts requests for partitions that another one leads,
# as brokers with a common storage do, nothing is refused.
_QUERY = f"""
select concat(server_ip, ':', server_port) as server, node_id_why, null as client_instance_id, count(*) as n,
    count(distinct client_instance_id) as n_clients, {first_ids("conn_id", "first_ns")} as evidence,
    collect_set(conn_id) as conn_ids, min(first_ns) as first_ns, max(last_ns) as last_ns
from mismatches left semi join (
    select c.server_ip, c.server_port from refusals e join connections c on c.conn_id = e.conn_id
) using (server_ip, server_port) left join (select conn_id, client_instance_id from connection_clients) using (conn_id)
group by server_ip, server_port, node_id_why"""


def _sentence(f: Facts) -> str:
    return (
        f"{f.server} is {f.node_id_why} ({counted(f.n, 'connection')} of {counted(f.n_clients, 'client')}, "
        f"first at {f.begin(f.first_ns)})"
    )


DETECTOR = Detector(
    reads={"mismatches": Where(CONNECTIONS, node_id=None, node_id_why=contains(ANOTHER)), "refusals": _REFUSALS},
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
)
RULE = Rule(
    name="advertised_mismatch",
    title="The address of one broker answers as another",
    severity="error",
    meaning="Clients use this address for what one broker leads or coordinates, but another broker is behind it: "
    "a wrong advertised.listeners, a wrong DNS record, or port forwardings that are mixed up. Nearly every "
    "request is refused there.",
    looks_at="Addresses that Metadata names for one node id and that answer for topic-partitions and groups which "
    "the cluster says another node leads or coordinates (nine in ten answers), and that refused something else. It "
    "reports nothing for TLS that is not decrypted.",
    advice="Compare advertised.listeners of the two brokers with DNS and with the port forwardings or load "
    "balancer on the way; each must lead to the broker that advertises it.",
    sources=("KIP-103",),
    detectors=(DETECTOR,),
)
