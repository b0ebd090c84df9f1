"""`old_address`: a client keeps connecting to the old address of a broker, although Metadata gave it the new one."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import broker, client, duration, times

_ATTEMPTS = Where(CONNECTIONS, synack_ns=None, node_id=NOT_NULL)
_NODE = ("node_id", "server_ip")
# One finding per client and address. `served`: time in which each address of a node served clients; `tries`: attempts
# to connect to an address that served nobody any longer, since another address of the node served; `told`: Metadata
# responses with that other address to the client in that time.
_QUERY = f"""
with served as (
    select node_id, server_ip, min(first_ns) as from_ns, max(last_ns) as to_ns
    from connections where node_id in (select node_id from attempts) and n_responses > 0
    group by node_id, server_ip
), tries as (
    select o.client_instance_id, o.client_id, o.client_ip, o.software_name, o.server, o.node_id, n.server_ip as new_ip,
        n.from_ns as moved_ns, count(*) as n, min(o.first_ns) as first_ns, max(o.first_ns) as last_ns,
        {first_ids("o.conn_id", "o.first_ns")} as conn_ids
    from attempts a join owned_connections o on o.conn_id = a.conn_id
        join served n on n.node_id = o.node_id and n.server_ip <> o.server_ip and o.first_ns > n.from_ns
        left join served s on s.node_id = o.node_id and s.server_ip = o.server_ip
    where {NO_BROKER} and coalesce(s.to_ns < n.from_ns, true)
    group by o.client_instance_id, o.client_id, o.client_ip, o.software_name, o.server, o.node_id, n.server_ip,
        n.from_ns
    having count(*) >= {limit.REFUSED_AGAIN} and max(o.first_ns) - min(o.first_ns) >= {limit.SAME_OFFSET_MS}000000L
), told as (
    select t.client_instance_id, t.server, count(*) as n_told, min(m.ts_ns) as told_ns
    from tries t join connection_clients c on c.client_instance_id = t.client_instance_id
        join metadata_responses m on m.conn_id = c.conn_id and m.ts_ns between t.moved_ns and t.last_ns
    where exists(m.brokers, each -> each.host = t.new_ip)
    group by t.client_instance_id, t.server
)
select t.*, n_told, told_ns, cast(null as array<string>) as evidence
from tries t join told on told.client_instance_id = t.client_instance_id and told.server = t.server"""


def _serves_elsewhere(tables: Tables) -> bool:
    """Whether a node that clients tried to reach served at another address."""
    served = set(rows_of(tables["served_at"], *_NODE))
    tried = list(rows_of(tables["attempts_at"], *_NODE))
    return any(node == at_node and ip != at_ip for node, ip in tried for at_node, at_ip in served)


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} tried to connect to {f.server} {times(f.n)} in "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}, and no client is served there any more: "
        f"{broker(f.node_id)} is at {f.new_ip} now, where it serves others, and Metadata said so to the client "
        f"{times(f.n_told)}, first at {f.at(f.told_ns)}"
    )


_ADVICE = (
    "The broker and the network are not the cause: a broker that keeps its id came back with another address. "
    "Restart the client, and update its library, which has to connect to the address that Metadata names and to "
    "forget the old one for the same node id. Nothing was accepted or read of what that node leads meanwhile; see "
    "what the client still has to write."
)
RULE = Rule(
    name="old_address",
    title="A client keeps connecting to the old address of a broker",
    severity="error",
    meaning="In containers and clouds a broker comes back with another address under the same node id. A client that "
    "keeps what it learned of the node first goes on trying there, though each Metadata names the new address. It "
    "looks like a broker that is down or silent.",
    looks_at=f"{limit.REFUSED_AGAIN} or more attempts to connect over {limit.SAME_OFFSET_MS // 1000} s or longer, "
    "refused or not answered, to an address of a node that served nobody any more, since another address of the same "
    "node serves, which Metadata named to that client meanwhile. Where Metadata has names it "
    "says nothing.",
    advice=_ADVICE,
    sources=("KAFKA-7890", "org.apache.kafka.clients.Metadata"),
    detectors=(
        Detector(
            reads={
                "attempts": _ATTEMPTS,
                "attempts_at": Groups(_ATTEMPTS, per=_NODE, having=count() >= limit.REFUSED_AGAIN),
                "served_at": Groups(Where(CONNECTIONS, n_responses=above(0), node_id=NOT_NULL), per=_NODE),
            },
            candidates=Candidates({"attempts_at": _NODE, "served_at": _NODE}, _serves_elsewhere),
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
        ),
    ),
)
