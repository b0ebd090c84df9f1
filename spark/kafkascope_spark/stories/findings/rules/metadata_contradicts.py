"""`metadata_contradicts`: Metadata responses contradict each other, so that at least one of them is wrong."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import N_ROWS, Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, at_least, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, listed, node, times

NOT_LEADER = 6
"""Error code of Fetch and Produce: NOT_LEADER_OR_FOLLOWER."""
_NAMED = Where(PARTITIONS, api_key=api_keys.METADATA, direction="response", partition=at_least(0), topic=NOT_NULL)
_WITH_LEADER = _NAMED.and_where(leader_id=at_least(0), leader_epoch=at_least(0))
_REFUSALS = Where(PARTITIONS, api_key=(api_keys.FETCH, api_keys.PRODUCE), direction="response", error_code=NOT_LEADER)
_LOWEST, _HIGHEST = smallest("leader_id"), largest("leader_id")
_FIRST, _LAST = smallest("ts_ns"), largest("ts_ns")
_SERVER = "struct(o.server, o.node_id)"
# One finding per topic. In a leader epoch a partition has one leader. A topic that is created again begins again with
# epoch 0, and so changes once. Servers of which each may serve every partition (WarpStream's agents) name leaders by
# turns and refuse nothing: what nobody refused is no finding.
_TWO_LEADERS = f"""
with named as (
    select p.request_id, p.conn_id, p.cluster, p.topic, p.partition, p.leader_epoch, p.leader_id, p.ts_ns,
        {_SERVER} as server_node,
        lag(p.leader_id) over (partition by p.cluster, p.topic, p.partition, p.leader_epoch
            order by p.ts_ns, p.request_id) as before_id
    from partitions p left semi join of_two_leaders t
            on t.cluster = p.cluster and t.topic = p.topic and t.partition = p.partition
                and t.leader_epoch = p.leader_epoch
        join owned_connections o on o.conn_id = p.conn_id
    where p.api_key = {api_keys.METADATA} and p.direction = 'response' and p.leader_id >= 0
), by_server as (
    select cluster, topic, partition, leader_epoch, server_node, leader_id, count(*) as n
    from named group by cluster, topic, partition, leader_epoch, server_node, leader_id
), statements_of as (
    select cluster, topic, partition, leader_epoch,
        array_sort(collect_list(struct(-n as minus_n, server_node, leader_id))) as statements
    from by_server group by cluster, topic, partition, leader_epoch
), changing as (
    select cluster, topic, partition, leader_epoch, count(*) as n, count_if(leader_id != before_id) as n_changes,
        min(ts_ns) as first_ns, max(ts_ns) as last_ns, {first_ids()} as evidence, collect_set(conn_id) as conn_ids
    from named group by cluster, topic, partition, leader_epoch
    having count_if(leader_id != before_id) >= {limit.CONTRADICTIONS}
), by_place as (
    select * from changing join statements_of using (cluster, topic, partition, leader_epoch)
), refused as (
    select p.cluster, p.topic, p.partition, count(*) as n_refused from refusals p left semi join by_place b
        on b.cluster = p.cluster and b.topic = p.topic and b.partition = p.partition
            and p.ts_ns between b.first_ns and b.last_ns
    group by p.cluster, p.topic, p.partition
), with_refused as (
    select * from by_place join refused using (cluster, topic, partition)
)
select topic, sum(n) as n, count(*) as n_places, sum(n_refused) as n_refused, min(first_ns) as first_ns,
    max(last_ns) as last_ns, max_by(struct(*), struct(n_changes, -first_ns, -cast(partition as bigint))) as worst,
    max_by(evidence, struct(n_changes, -first_ns, -cast(partition as bigint))) as evidence,
    cast(null as string) as client_instance_id,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
    if(sum(n_refused) >= {limit.ASKED_AGAIN}, 'error', 'warning') as severity
from with_refused group by cluster, topic"""

# One finding per topic. `doubtful`: partitions that are not in all responses from their first one on. They are missing
# for certain where a response names them again after a while: a topic that was created again with fewer of them is
# named with these no more.
_MISSING_PARTITIONS = f"""
with seen as (
    select cluster, topic, partition, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns
    from partitions where {_NAMED.condition} group by cluster, topic, partition
), doubtful as (
    select cluster, topic, partition, first_ns from (
        select *, max(n) over of_topic as most, max(last_ns) over of_topic as end_ns,
            min(first_ns) over of_topic as begin_ns
        from seen window of_topic as (partition by cluster, topic)
    ) where last_ns < end_ns or (n < most and first_ns = begin_ns)
), responses as (
    select request_id, conn_id, cluster, topic, min(ts_ns) as ts_ns, collect_set(partition) as named
    from partitions left semi join doubtful using (cluster, topic) where {_NAMED.condition}
    group by request_id, conn_id, cluster, topic
), each as (
    select r.request_id, r.conn_id, r.cluster, r.topic, d.partition, r.ts_ns,
        array_contains(r.named, d.partition) as is_named, {_SERVER} as server_node, o.client_id, o.client_ip
    from responses r join doubtful d on d.cluster = r.cluster and d.topic = r.topic and r.ts_ns >= d.first_ns
        join owned_connections o on o.conn_id = r.conn_id
), by_place as (
    select cluster, topic, partition, count_if(not is_named) as n, min(if(is_named, null, ts_ns)) as first_ns,
        max(if(is_named, null, ts_ns)) as last_ns, max(if(is_named, ts_ns, null)) as named_ns,
        array_sort(collect_set(if(is_named, null, server_node))) as server_nodes,
        array_sort(collect_set(if(is_named, null, struct(client_id, client_ip)))) as clients,
        max_by(if(is_named, server_node, null), if(is_named, struct(ts_ns, request_id), null)) as naming_server,
        max_by(request_id, if(is_named, struct(ts_ns, request_id), null)) as named_by,
        {first_ids("if(is_named, null, request_id)", "ts_ns", 20)} as lacking_ids, collect_set(conn_id) as conn_ids
    from each group by cluster, topic, partition
), certain as (
    select * from by_place where n >= {limit.CONTRADICTIONS} and last_ns - first_ns >= {limit.SAME_OFFSET_MS}000000L
        and named_ns - first_ns >= {limit.TOPIC_MISSING_MS}000000L
)
select topic, sum(n) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    array_sort(collect_set(concat(topic, '-', partition))) as places,
    max_by(struct(server_nodes, clients, naming_server, named_ns, n), struct(n, -cast(partition as bigint))) as worst,
    max_by(concat(lacking_ids, array(named_by)), struct(n, -cast(partition as bigint))) as evidence,
    cast(null as string) as client_instance_id,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids, 'warning' as severity
from certain group by cluster, topic"""


def _some_are_missing(tables: Tables) -> bool:
    """Whether a partition is in fewer responses than others of its topic, or not in the last one."""
    topics: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
    for cluster, topic, *seen in rows_of(tables["named"], "cluster", "topic", N_ROWS, str(_FIRST), str(_LAST)):
        topics[cluster, topic].append((seen[0], seen[1], seen[2]))
    for seen_of_topic in topics.values():
        numbers, firsts, lasts = zip(*seen_of_topic, strict=True)
        most, begin_ns, end_ns = max(numbers), min(firsts), max(lasts)
        if min(lasts) < end_ns or any(n < most and first == begin_ns for n, first, _ in seen_of_topic):
            return True
    return False


def _nodes(server_nodes: Iterable[Any]) -> str:
    return listed([node(each["node_id"], each["server"]) for each in server_nodes])


def _sentence_of_leaders(f: Facts) -> str:
    w = f.worst
    more = f", likewise for {counted(f.n_places - 1, 'more partition')}" if f.n_places > 1 else ""
    refused = f" Brokers refused requests for it {times(f.n_refused)} meanwhile (NOT_LEADER_OR_FOLLOWER)."
    said = [
        f"{node(each['server_node']['node_id'], each['server_node']['server'])} names node {each['leader_id']} "
        f"({counted(-each['minus_n'], 'response')})"
        for each in w["statements"]
    ]
    return (
        f"Metadata names different leaders of {f.topic}-{w['partition']} in the same leader epoch "
        f"({w['leader_epoch']}): {listed(said)}, from {f.begin(w['first_ns'])} to {f.at(w['last_ns'])}, and changes "
        f"{times(w['n_changes'])} between them{more}.{refused} A partition has one leader in an epoch, so that some of "
        "these responses are wrong"
    )


def _sentence_of_missing(f: Facts) -> str:
    w, named_by = f.worst, f.worst["naming_server"]
    whom = listed([client(each["client_id"], each["client_ip"]) for each in w["clients"]])
    return (
        f"Metadata of {_nodes(w['server_nodes'])} lacks {listed(f.places)} in {counted(w['n'], 'response')} from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}, without an error, although it was named before, and "
        f"{node(named_by['node_id'], named_by['server'])} names it at {f.at(w['named_ns'])}. A client that "
        f"believes these responses ({whom}) neither writes to it nor reads from it"
    )


def _advice_on_leaders(f: Facts) -> str:
    servers = [each["server_node"] for each in f.worst["statements"]]
    by_turns = [each for n, each in enumerate(servers) if each in servers[:n]]
    whose = (
        f"{_nodes(by_turns)} names both by turns, and is at fault"
        if by_turns
        else "Servers disagree: the one whose leader refuses requests is at fault"
    )
    return (
        f"{whose}. The clients only follow what they are told. See the logs of the servers for elections of this "
        "partition, and whether they are cut off from their controller or the others; update them, and restart the one "
        "that is at fault."
    )


def _advice_on_missing(f: Facts) -> str:
    return (
        f"Compare what each broker says (kafka-topics.sh --describe --topic {f.topic} with each as "
        f"--bootstrap-server): {_nodes(f.worst['server_nodes'])} did not have the whole topic. See its log for the "
        "controller's updates, and restart it if it stays behind; clients get the partitions back with their next "
        "Metadata."
    )


RULE = Rule(
    name="metadata_contradicts",
    title="Metadata responses contradict each other",
    severity="error",
    meaning="Clients believe what Metadata says. If servers say different things about the same topic, clients go to "
    "the wrong broker again and again, or leave out partitions, and no request for Metadata fails.",
    looks_at="Metadata responses that name different leaders of a partition in the same leader epoch, by turns "
    f"({limit.CONTRADICTIONS} changes or more), while brokers refuse requests for it; and responses that lack a "
    f"partition ({limit.CONTRADICTIONS} or more, for {limit.SAME_OFFSET_MS // 1000} s or longer) which was named "
    f"before and is named after the first of them. {limit.TOPIC_MISSING_MS // 1000} s are allowed for brokers to learn "
    "of a change.",
    advice="Look at the brokers that return the wrong Metadata, and not at the clients; restart or update them.",
    sources=("KIP-320", "KIP-101", "org.apache.kafka.clients.Metadata"),
    detectors=(
        Detector(
            reads={
                "of_two_leaders": Groups(
                    _WITH_LEADER, per=("cluster", "topic", "partition", "leader_epoch"), having=_HIGHEST - _LOWEST >= 1
                ),
                "refusals": _REFUSALS,
            },
            query=_TWO_LEADERS,
            subject=fact("topic"),
            sentence=_sentence_of_leaders,
            advice=_advice_on_leaders,
        ),
        Detector(
            reads={
                "named": Groups(
                    _NAMED, per=("cluster", "topic", "partition"), having=all_of(count() >= 1, _FIRST >= 0, _LAST >= 0)
                )
            },
            candidates=Candidates({"named": ("cluster", "topic", N_ROWS, str(_FIRST), str(_LAST))}, _some_are_missing),
            query=_MISSING_PARTITIONS,
            subject=fact("topic"),
            sentence=_sentence_of_missing,
            advice=_advice_on_missing,
        ),
    ),
)
