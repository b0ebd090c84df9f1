"""`node_id_changed`: the broker at an address has another node id than before."""

from collections import defaultdict

from kafkascope_analyzer.dataset.tables import TOPOLOGY
from kafkascope_spark.stories.findings.candidates import COUNT, Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import listed

_LISTED = Where(TOPOLOGY, kind="broker", node_id=NOT_NULL, host=NOT_NULL, port=NOT_NULL)
_NODE = ("cluster", "host", "port", "node_id")
# One finding per address and new node id, if no Metadata response lists the former node id at any address after that,
# nor the new one before. An address that several nodes have at the same time is that of a proxy. `leaderless`: errors
# about partitions without a leader since then.
_QUERY = """
with listed as (
    select c.cluster, concat(broker.host, ':', broker.port) as server, broker.node_id, min(m.ts_ns) as from_ns,
        max(m.ts_ns) as to_ns, min_by(m.request_id, struct(m.ts_ns, m.request_id)) as first_id,
        max_by(m.request_id, struct(m.ts_ns, m.request_id)) as last_id,
        min_by(m.conn_id, struct(m.ts_ns, m.conn_id)) as conn_id
    from (select conn_id, ts_ns, request_id, explode(brokers) as broker from metadata_responses) m
        join connections c on c.conn_id = m.conn_id
    group by c.cluster, broker.host, broker.port, broker.node_id
), followed as (
    select *, lag(node_id) over of_address as old_id, lag(to_ns) over of_address as old_ns,
        lag(last_id) over of_address as old_request
    from listed window of_address as (partition by cluster, server order by from_ns, node_id)
), known as (
    select cluster, node_id, min(from_ns) as known_ns, max(to_ns) as gone_ns from listed group by cluster, node_id
), changed as (
    select f.* from followed f join known o on o.cluster <=> f.cluster and o.node_id = f.old_id
        join known n on n.cluster <=> f.cluster and n.node_id = f.node_id
    where o.gone_ns < f.from_ns and n.known_ns = f.from_ns
), leaderless as (
    select c.server, c.node_id, count(*) as n_errors, slice(array_sort(collect_set(e.topic)), 1, 20) as topics
    from changed c join errors e on e.cluster <=> c.cluster and e.ts_ns >= c.from_ns
    where e.error_name = 'LEADER_NOT_AVAILABLE' group by c.server, c.node_id
)
select server, old_id, node_id, old_ns, from_ns as first_ns, to_ns as last_ns, 1 as n,
    cast(null as string) as client_instance_id, array(old_request, first_id) as evidence, array(conn_id) as conn_ids,
    n_errors, topics, if(n_errors is null, 'warning', 'error') as severity
from changed left join leaderless using (server, node_id)"""


def _has_several_ids(tables: Tables) -> bool:
    """Whether an address belongs to several node ids."""
    nodes: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for cluster, host, port, node_id in rows_of(tables["nodes"], *_NODE):
        nodes[cluster, host, port].add(node_id)
    return any(len(of_address) > 1 for of_address in nodes.values())


def _sentence(f: Facts) -> str:
    return (
        f"The broker at {f.server} was node {f.old_id} until {f.begin(f.old_ns)}, and is node {f.node_id} from "
        f"{f.at(f.first_ns)} on, by the Metadata responses{_errors(f)}"
    )


def _errors(f: Facts) -> str:
    """Returns how often partitions had no leader since then."""
    if f.n_errors is None:
        return ""
    return f". Since then partitions of {listed(f.topics)} have no leader: {f.n_errors:,} times LEADER_NOT_AVAILABLE"


RULE = Rule(
    name="node_id_changed",
    title="The broker at an address has another node id than before",
    severity="error",
    meaning="The node id is what partitions, in-sync replicas and the controller know a broker by. A broker that "
    "comes back with another one is a new, empty member of the cluster: what the former node id had stays without that "
    "replica, and without a leader where it was the only one in sync.",
    looks_at="Metadata responses that give an address another node id than before, where none gives it the former one "
    "later at any address, nor the new one before. error: partitions had no leader since (LEADER_NOT_AVAILABLE). An "
    "address that several nodes have at the same time is left out.",
    advice="Give the broker its former node.id (broker.id) back, with the log directories that belong to it "
    "(meta.properties has the id): fix the id in its configuration instead of letting it be generated "
    "(broker.id.generation.enable), and keep the volume. Where the change is intended, move the replicas of the former "
    "id to other brokers (kafka-reassign-partitions.sh) while they still have other in-sync replicas; no unclean "
    "election is needed as long as the logs exist.",
    sources=("broker.id.generation.enable of the broker settings", "KIP-631"),
    detectors=(
        Detector(
            reads={"nodes": Groups(_LISTED, per=_NODE, having=COUNT >= 1)},
            candidates=Candidates({"nodes": _NODE}, _has_several_ids),
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
        ),
    ),
)
