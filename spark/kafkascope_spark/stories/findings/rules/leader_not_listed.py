"""`leader_not_listed`: Metadata names a leader that is not among the brokers that it lists."""

from kafkascope_analyzer.dataset.tables import PARTITIONS, TOPOLOGY
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables
from kafkascope_spark.stories.findings.conditions import NOT_NULL, at_least, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration, listed, times

_LED = Where(PARTITIONS, api_key=api_keys.METADATA, direction="response", error_code=0, leader_id=at_least(0))
_PLACE = "concat(topic, '-', partition)"
# One finding per client whose last Metadata response with leaders names one that it does not list. `missing`: such
# topic-partitions of a response, with their leaders.
_QUERY = f"""
with listing as (
    select request_id, transform(brokers, broker -> broker.node_id) as node_ids from metadata_responses
), named as (
    select l.request_id, l.conn_id, l.ts_ns, first(node_ids) as node_ids,
        array_sort(collect_list(if(array_contains(node_ids, leader_id), null,
            struct({_PLACE} as place, leader_id)))) as missing
    from led l join listing using (request_id) group by l.request_id, l.conn_id, l.ts_ns
), of_client as (
    select n.*, o.client_instance_id, o.client_id, o.client_ip, o.server, size(missing) > 0 as is_missing
    from named n join owned_connections o on o.conn_id = n.conn_id
    where {NO_BROKER}
)
select client_instance_id, client_id, client_ip, count_if(is_missing) as n,
    min(if(is_missing, ts_ns, null)) as first_ns, max(if(is_missing, ts_ns, null)) as last_ns,
    max_by(struct(missing, node_ids, server), struct(ts_ns, request_id)) as at_last,
    {first_ids("if(is_missing, request_id, null)")} as evidence, array_sort(collect_set(conn_id)) as conn_ids
from of_client
group by client_instance_id, client_id, client_ip
having n >= {limit.REFUSED_AGAIN} and last_ns - first_ns >= {limit.SAME_OFFSET_MS}000000L
    and size(at_last.missing) > 0"""


def _is_named_alone(tables: Tables) -> bool:
    """Whether Metadata names a leader that no response lists among the brokers."""
    known = set(tables["brokers"]["node_id"].to_pylist())
    return not known.issuperset(tables["leaders"]["leader_id"].to_pylist())


def _sentence(f: Facts) -> str:
    last = f.at_last
    leaders = sorted({each["leader_id"] for each in last["missing"]})
    places = sorted({each["place"] for each in last["missing"]})
    names = f"node {leaders[0]}" if len(leaders) == 1 else f"nodes {listed([str(node) for node in leaders])}"
    brokers = listed([str(node) for node in sorted(last["node_ids"])]) or "none"
    return (
        f"{client(f.client_id, f.client_ip)} asked {last['server']} for Metadata {times(f.n)} in "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} on, and got {names} as the leader of "
        f"{listed(places)} without its address: the response lists only the nodes {brokers}"
    )


RULE = Rule(
    name="leader_not_listed",
    title="Metadata names a leader that is not among its brokers",
    severity="error",
    meaning="A client finds the address of a leader in the list of brokers of the same Metadata response. If the "
    "leader is not there, the client knows nobody to write to or to read from: it asks for Metadata again and again, "
    "and gets no error code.",
    looks_at=f"Metadata responses that name leaders without an error and without listing them: "
    f"{limit.REFUSED_AGAIN} or more to one client, over {limit.SAME_OFFSET_MS // 1000} s or longer, its last one "
    "included. Leaders that any Metadata of the capture lists as brokers are left out.",
    advice="Neither the client nor the topic is the cause: the server builds its response from two sources that do not "
    "agree. Look at what answers there: a gateway, a proxy or a server that is not Apache Kafka, and the "
    "advertised listeners of its nodes (the node id of a leader may be made from another listener's address than "
    "that of the list). Report it there; until then use a listener whose Metadata is whole.",
    sources=("Kafka protocol guide: Metadata", "org.apache.kafka.common.requests.MetadataResponse"),
    detectors=(
        Detector(
            reads={
                "led": _LED,
                "leaders": Groups(_LED, per=("leader_id",), having=count() >= limit.REFUSED_AGAIN),
                "brokers": Groups(Where(TOPOLOGY, kind="broker", node_id=NOT_NULL), per=("node_id",)),
            },
            candidates=Candidates({"leaders": ("leader_id",), "brokers": ("node_id",)}, _is_named_alone),
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
        ),
    ),
)
