"""`log_truncated`: a new leader lacks records that the previous leader had accepted."""

from collections import defaultdict
from collections.abc import Collection
from itertools import permutations
from typing import NamedTuple

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, all_of, at_least, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import counted
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import INCIDENTS

_ACCEPTED = Where(
    PARTITIONS, api_key=api_keys.PRODUCE, direction="response", error_code=0, partition_offset=at_least(0)
)
_SENT = Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="request", n_records=above(0))
_FIRST_NS, _LAST_NS = smallest("ts_ns"), largest("ts_ns")
_LOWEST, _HIGHEST = smallest("partition_offset"), largest("partition_offset")
_MOST_RECORDS = largest("n_records")
_SPAN = (_FIRST_NS, _LAST_NS, _LOWEST, _HIGHEST)
"""Aggregates of the batches of a topic-partition that were accepted on a connection."""
_PLACE = "topic, coalesce(topic_id, ''), partition"
# One finding per topic. `earlier`: the node that accepted the highest offset so far, and when. A batch that was sent to
# another node after that response, and got a lower offset, has overwritten other records. The same batch sent again
# gets the offset that it already has; a topic that is created again begins with 0.
_QUERY = f"""
with accepted as (
    select a.request_id, a.conn_id, a.topic, a.topic_id, a.partition, a.partition_offset as base,
        a.partition_offset + s.n_records as end_offset, r.ts_ns, r.response_ns, r.node_id, r.acks,
        row_number() over (partition by a.topic, a.partition, a.partition_offset, s.n_records, s.first_timestamp_ms,
            s.producer_id order by r.response_ns, a.request_id) as nth
    from accepted_batches a join sent_batches s
            on a.request_id = s.request_id and a.topic = s.topic and a.partition = s.partition
        join requests r on a.request_id = r.request_id
    where r.node_id is not null and exists (select 1 from moves)
), ordered as (
    select *, max(struct(end_offset, node_id, response_ns, acks, request_id)) over (partition by {_PLACE}
        order by response_ns, request_id rows between unbounded preceding and 1 preceding) as earlier
    from accepted where nth = 1
), again as (
    select topic, partition, node_id, min(ts_ns) as first_ns, max(ts_ns) as last_ns, min(base) as from_offset,
        max(earlier.end_offset) as to_offset, max_by(earlier.node_id, earlier.end_offset) as old_node_id,
        max_by(earlier.request_id, earlier.end_offset) as lost_id, max(earlier.acks) as acks, {first_ids()} as evidence,
        collect_set(conn_id) as conn_ids
    from ordered
    where earlier.node_id <> node_id and base < earlier.end_offset and ts_ns > earlier.response_ns and base > 0
    group by topic, partition, node_id
)
select topic, cast(sum(to_offset - from_offset) as bigint) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    count(*) as n_partitions, max(acks) = 1 as is_acks_one, null as client_instance_id,
    min_by(struct(partition, node_id, old_node_id, from_offset, to_offset), struct(first_ns, partition)) as example,
    array_sort(array_distinct(flatten(collect_list(array(node_id, old_node_id))))) as node_ids,
    array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
    slice(flatten(array_sort(collect_list(struct(first_ns, partition, concat(array(lost_id), evidence) as ids))).ids),
        1, 100) as evidence
from again group by topic"""

_PLACE_OF_BATCH = ["topic", "partition"]
_BATCH = ["request_id", *_PLACE_OF_BATCH]
"""Columns that identify a batch."""
_ACCEPTED_BATCH = ("topic", "partition", "conn_id", "partition_offset", "n_records")
_OF_GROUPS = {
    "accepted_on": ("conn_id", "topic", "partition", *map(str, _SPAN)),
    "sent_to": ("topic", "partition", str(_MOST_RECORDS)),
    "nodes": ("conn_id", "node_id"),
}
"""Columns of groups that candidates need."""


class _Accepted(NamedTuple):
    """Batches of a topic-partition that a node accepted: times of the first and last response, lowest and highest
    offset of a batch."""

    node_id: int
    first_ns: int
    last_ns: int
    lowest: int
    highest: int


def _may_be_given_again(tables: Tables) -> bool:
    """Whether a node may have assigned offsets of a topic-partition after another node had assigned higher ones."""
    return bool(_places_given_again(tables))


def _places_given_again(tables: Tables) -> set[tuple[str, int]]:
    """Returns the topic-partitions of which the offsets that nodes assigned, and the times, overlap."""
    records = {(topic, at): n for topic, at, n in rows_of(tables["sent_to"], "topic", "partition", str(_MOST_RECORDS))}
    return {
        place
        for place, nodes in _accepted_by_node(tables).items()
        if place in records
        for earlier, later in permutations(nodes, 2)
        if later.last_ns > earlier.first_ns and later.lowest < earlier.highest + records[place]
    }


def _are_given_again(tables: Tables) -> bool:
    """Whether a batch got an offset that is lower than the end of a batch that another node had accepted before."""
    nodes = defaultdict(set)
    for conn_id, node_id in rows_of(tables["nodes"], "conn_id", "node_id"):
        nodes[conn_id].add(node_id)
    ends: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for topic, partition, conn_id, base, n in rows_of(_batches_in_order(tables), *_ACCEPTED_BATCH):
        end_of = ends[topic, partition]
        for node_id in nodes[conn_id]:
            if base > 0 and any(base < end for other, end in end_of.items() if other != node_id):
                return True
            end_of[node_id] = max(end_of.get(node_id, 0), base + n)
    return False


def _batches_in_order(tables: Tables) -> pa.Table:
    """Returns the accepted batches of the topic-partitions in question with their numbers of records, in the order of
    the responses."""
    accepted = tables["accepted_batches"]
    places = [{"topic": topic, "partition": partition} for topic, partition in _places_given_again(tables)]
    known = pa.Table.from_pylist(places, pa.schema([accepted.schema.field(name) for name in _PLACE_OF_BATCH]))
    for other, names in ((known, _PLACE_OF_BATCH), (tables["sent_batches"], _BATCH)):
        accepted = accepted.join(other, names, join_type="inner", use_threads=False)
    return accepted.sort_by([("ts_ns", "ascending"), ("request_id", "ascending")])


def _accepted_by_node(tables: Tables) -> dict[tuple[str, int], list[_Accepted]]:
    """Returns the batches that each node accepted, by topic and partition."""
    known = tables["accepted_on"].join(tables["nodes"], "conn_id", join_type="inner", use_threads=False)
    functions = [(str(each), each.function) for each in _SPAN]
    by_node = known.group_by(["topic", "partition", "node_id"], use_threads=False).aggregate(functions)
    spans = [f"{column}_{function}" for column, function in functions]
    found = defaultdict(list)
    for topic, partition, *accepted in rows_of(by_node, "topic", "partition", "node_id", *spans):
        found[topic, partition].append(_Accepted(*accepted))
    return found


def _sentence(f: Facts) -> str:
    e = f.example
    more = f", likewise in {counted(f.n_partitions - 1, 'more partition')}" if f.n_partitions > 1 else ""
    return (
        f"{counted(f.n, 'record')} of {f.topic} that brokers had accepted are lost: node {e['node_id']}, leader of "
        f"{f.topic}-{e['partition']} after node {e['old_node_id']}, gave the offsets {e['from_offset']} to "
        f"{e['to_offset'] - 1} to others from {f.begin(f.first_ns)} on, which node {e['old_node_id']} had given "
        f"before{more}. Consumers that had read them skip what stands there now, or find their position outside the log"
    )


def _advice(libraries: Collection[str], topic: str = "the topic", *, is_acks_one: bool = True) -> str:
    acks = f"Set {setting('acks', libraries)} of the producers: " if is_acks_one else ""
    why = (
        "with acks=1 a leader answers before its followers have the records, and what they lack is lost with it; "
        if is_acks_one
        else ""
    )
    return (
        f"{acks}{why}{'k' if acks else 'K'}eep unclean.leader.election.enable=false and min.insync.replicas at 2 or "
        f"more for {topic}. Write the lost records again where their source still has them; let the groups that had "
        "read further be checked before their offsets are set."
    )


RULE = Rule(
    name="log_truncated",
    title="Accepted records are lost with their leader",
    severity="error",
    meaning="If a new leader does not have all records of the previous one, its log ends earlier: records that were "
    "accepted beyond that are lost, and their offsets are assigned again. That happens with acks=1, and with an "
    "unclean election.",
    looks_at="Offsets that brokers gave to batches (responses to Produce without error): a batch that was sent after "
    "another node had given higher offsets of its topic-partition. Batches that are sent again, and topics that begin "
    "at 0 again, are left out. At least so many records: those of producers outside of the capture are not counted.",
    advice=_advice(()),
    sources=("KIP-101", "KIP-320", "KIP-966", "unclean.leader.election.enable of the topic settings"),
    detectors=(
        Detector(
            reads={
                "accepted_batches": _ACCEPTED,
                "sent_batches": _SENT,
                "moves": Where(INCIDENTS, kind=tuple(sorted(BROKER_FAILURES | MOVES))),
                "accepted_on": Groups(
                    _ACCEPTED, per=("conn_id", "topic", "partition"), having=all_of(*map(NOT_NULL, _SPAN))
                ),
                "sent_to": Groups(_SENT, per=("topic", "partition"), having=_MOST_RECORDS >= 1),
                "nodes": Groups(Where(REQUESTS, api_name="Produce", node_id=NOT_NULL), per=("conn_id", "node_id")),
            },
            candidates=Candidates(
                _OF_GROUPS,
                _may_be_given_again,
                then=Candidates(
                    {
                        **_OF_GROUPS,
                        "accepted_batches": (*_BATCH, "conn_id", "partition_offset", "ts_ns"),
                        "sent_batches": (*_BATCH, "n_records"),
                    },
                    _are_given_again,
                ),
            ),
            query=_QUERY,
            subject=lambda f: str(f.topic),
            sentence=_sentence,
            advice=lambda f: _advice(f.libraries, f.topic, is_acks_one=bool(f.is_acks_one)),
        ),
    ),
)
