"""`old_address`: a client keeps connecting to the old address of a broker, although Metadata gave it the new one, or
nobody could give it any."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import broker, client, duration, listed, times

_ATTEMPTS = Where(CONNECTIONS, synack_ns=None, node_id=NOT_NULL)
_NODE = ("node_id", "server_ip")
# One finding per client and address. `served`: time in which each address of a node served clients; `tries`: attempts
# to connect to an address that served nobody any longer, since another address of the node served; `named`:
# Metadata responses with that other address to the client in that time; `answered`: clients that got any response then.
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
), named as (
    select t.client_instance_id, t.server, count(*) as n_named, min(m.ts_ns) as named_ns
    from tries t join connection_clients c on c.client_instance_id = t.client_instance_id
        join metadata_responses m on m.conn_id = c.conn_id and m.ts_ns between t.moved_ns and t.last_ns
    where exists(m.brokers, each -> each.host = t.new_ip)
    group by t.client_instance_id, t.server
), answered as (
    select distinct t.client_instance_id, t.server
    from tries t join owned_connections o on o.client_instance_id = t.client_instance_id
    where o.n_responses > 0 and o.last_ns >= t.moved_ns
), each as (
    select t.*, n_named, named_ns from tries t
        left join named n on n.client_instance_id = t.client_instance_id and n.server = t.server
        left join answered a on a.client_instance_id = t.client_instance_id and a.server = t.server
    where n_named is not null or a.server is null
)
select client_instance_id, client_id, client_ip, max(n_named) as n_named, min(named_ns) as named_ns,
    cast(sum(n) as bigint) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    array_sort(collect_list(struct(node_id, server, new_ip))) as moves, cast(null as array<string>) as evidence,
    slice(array_sort(flatten(collect_list(conn_ids))), 1, 100) as conn_ids
from each
group by client_instance_id, client_id, client_ip, if(n_named is null, null, server)"""


def _serves_elsewhere(tables: Tables) -> bool:
    """Whether a node that clients tried to reach served at another address."""
    served = set(rows_of(tables["served_at"], *_NODE))
    tried = list(rows_of(tables["attempts_at"], *_NODE))
    return any(node == at_node and ip != at_ip for node, ip in tried for at_node, at_ip in served)


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} tried to connect to {listed([each['server'] for each in f.moves])} "
        f"{times(f.n)} in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}, and no client is served there "
        f"any more: {_now(f)}"
    )


def _now(f: Facts) -> str:
    """Returns where the brokers are now, and whether the client could know."""
    at = listed([f"{broker(each['node_id'])} is at {each['new_ip']} now" for each in f.moves])
    if f.n_named is None:
        return f"{at}, where others are served, and the client reaches no server that could report it"
    reported = f"Metadata reported it to the client {times(f.n_named)}, first at {f.at(f.named_ns)}"
    return f"{at}, where it serves others, and {reported}"


def _advice(f: Facts) -> str:
    return _ADVICE if f.n_named is not None else _BEGIN_AGAIN


_ADVICE = (
    "The broker and the network are not the cause: a broker that keeps its id came back with another address. "
    "Restart the client, and update its library, which has to connect to the address that Metadata names and to "
    "forget the old one for the same node id. Nothing was accepted or read of what that node leads meanwhile; see "
    "what the client still has to write."
)
_BEGIN_AGAIN = (
    "The brokers that have moved and the network are not the cause: all addresses that the client knows are out of "
    "use. Restart the client, so that it resolves bootstrap.servers again. A client that does so by itself (Java 4.0 "
    "or newer with metadata.recovery.strategy=rebootstrap, its default there; KIP-899), host names in "
    "advertised.listeners in place of IP addresses, or addresses that stay (a service for each broker) make that "
    "unnecessary. Nothing was accepted or read meanwhile; see what the client still has to write."
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
    "node serves, which Metadata named to that client meanwhile, or while the client got no response from any server. "
    "Where Metadata has names, and the client gets responses, it says nothing.",
    advice=f"{_ADVICE} Where no server can tell the client the new address: {_BEGIN_AGAIN}",
    sources=("KAFKA-7890", "KIP-899", "org.apache.kafka.clients.Metadata"),
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
            advice=_advice,
        ),
    ),
)
