"""`unassigned_partitions`: partitions of a topic that a group reads are assigned to none of its members."""

from collections import defaultdict

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, largest, longer_than
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import REBALANCES

_ACCEPTED = Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="response", error_code=0)
_LAST_WRITTEN = largest("ts_ns")
# One finding per group: partitions of the topics in its last assignment that no member has, to which records were
# written for a while after that, and which no client of the group fetched.
_QUERY = f"""
with latest as (
    select group_id, max_by(struct(end_ns, members, members_complete, n_members),
        struct(coalesce(end_ns, start_ns), rebalance_id)) as at
    from (select * from rebalances where group_id in (select group_id from complete)) group by group_id
), assigned as (
    select group_id, at.end_ns as since_ns, at.n_members as n_members, client_instance_id, explode(assigned) as place
    from (select group_id, at, inline(at.members) from latest where at.end_ns is not null and at.members_complete)
), of_topics as (
    select group_id, since_ns, n_members, regexp_extract(place, '^(.*)-[0-9]+$', 1) as topic,
        collect_set(place) as places, collect_set(client_instance_id) as client_instance_ids
    from assigned group by group_id, since_ns, n_members, regexp_extract(place, '^(.*)-[0-9]+$', 1)
), written as (
    select topic, concat(topic, '-', partition) as place, ts_ns, n_records, request_id
    from accepted where topic in (select topic from of_topics)
), unread as (
    select o.group_id, o.n_members, o.client_instance_ids, w.place, min(w.ts_ns) as first_ns, max(w.ts_ns) as last_ns,
        count(*) as n_batches
    from of_topics o join written w on w.topic = o.topic and w.ts_ns >= o.since_ns
    where not array_contains(o.places, w.place)
    group by o.group_id, o.n_members, o.client_instance_ids, w.place
    having last_ns - first_ns >= {limit.UNREAD_MS}000000L
), fetched as (
    select distinct c.group_id, concat(p.topic, '-', p.partition) as place
    from partitions p join (select explode(conn_ids) as conn_id, group_id from clients where group_id is not null) c
        on c.conn_id = p.conn_id
    where p.api_key = {api_keys.FETCH} and p.topic in (select topic from of_topics)
)
select u.group_id, null as client_instance_id, max(u.n_members) as n_members, cast(sum(n_batches) as bigint) as n,
    min(first_ns) as first_ns, max(last_ns) as last_ns, array_sort(collect_set(u.place)) as places,
    array_sort(array_distinct(flatten(collect_list(client_instance_ids)))) as client_instance_ids,
    cast(null as array<string>) as evidence, max(m.conn_ids) as conn_ids, max(m.software_names) as software_names
from unread u left anti join fetched f on f.group_id = u.group_id and f.place = u.place
    join (select group_id, array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
        {sorted_set("software_name")} as software_names from clients group by group_id) m on m.group_id = u.group_id
group by u.group_id"""


def _is_written_unassigned(tables: Tables) -> bool:
    """Returns whether, since a group last assigned its partitions, records were written to a partition that no member
    has, of a topic of which members have other partitions."""
    written: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for topic, partition, last_ns in rows_of(tables["written_places"], "topic", "partition", str(_LAST_WRITTEN)):
        written[topic].append((f"{topic}-{partition}", last_ns))
    latest: dict[str, tuple[int, str, int]] = {}
    for number, (group_id, *at) in enumerate(rows_of(tables["complete"], "group_id", "end_ns", "rebalance_id")):
        latest[group_id] = max(latest.get(group_id, (*at, number)), (*at, number))
    for end_ns, _, number in latest.values():
        members = tables["complete"].column("members")[number].as_py()
        places = {place for member in members for place in member["assigned"] or ()}
        topics = {place.rpartition("-")[0] for place in places}
        if any(place not in places and last_ns >= end_ns for topic in topics for place, last_ns in written[topic]):
            return True
    return False


def _sentence(f: Facts) -> str:
    which = f"{listed(f.places)} {'is' if len(f.places) == 1 else 'are'}"
    return (
        f"{which} assigned to none of the {counted(f.n_members, 'member')} of group {f.group_id}, which reads other "
        f"partitions of the topic: {counted(f.n, 'batch', 'batches')} were written there from {f.begin(f.first_ns)} "
        f"on, for {duration(f.last_ns - f.first_ns)}, and no member of the group read them"
    )


def _advice(f: Facts) -> str:
    age = setting("metadata_age", f.libraries, defaults=True)
    sooner = f" A lower {age} lets it notice sooner." if age else ""
    return (
        "Where partitions were added to the topic: a group assigns them when a member has seen them in Metadata and "
        f"joins again, which takes up to metadata.max.age.ms, and in some libraries never happens.{sooner} Restart "
        f"one member, so that the group assigns again, and upgrade the library of group {f.group_id} where it does "
        "not notice by itself. Where its position begins at the latest offset then, it skips what was written until "
        "now: let it begin at the earliest (auto.offset.reset)."
    )


RULE = Rule(
    name="unassigned_partitions",
    title="Partitions of a topic that a group reads have no reader",
    severity="error",
    meaning="The members work, send heartbeats and read. Partitions that were added since the last rebalance are in no "
    "assignment, and their records wait.",
    looks_at="The last rebalance of a group of which all members are in the capture: partitions of the topics assigned "
    f"there that no member has, to which brokers accepted records for {limit.UNREAD_MS // 1000} s or longer since, and "
    "that no client of the group fetched.",
    advice="Restart a member, so that the group assigns again; upgrade a library that does not notice new partitions.",
    sources=("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator#rejoinNeededOrPending",),
    detectors=(
        Detector(
            reads={
                "complete": Where(REBALANCES, end_ns=NOT_NULL, members=longer_than(0), members_complete=True),
                "accepted": _ACCEPTED,
                "written_places": Groups(_ACCEPTED, per=("topic", "partition"), having=_LAST_WRITTEN >= 0),
            },
            candidates=Candidates(
                {
                    "complete": ("rebalance_id", "group_id", "end_ns", "members"),
                    "written_places": ("topic", "partition", str(_LAST_WRITTEN)),
                },
                _is_written_unassigned,
            ),
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
)
