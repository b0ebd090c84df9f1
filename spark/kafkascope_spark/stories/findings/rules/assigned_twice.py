"""`assigned_twice`: two members of a group have the same partition, as both are assigned it or one of them reads on."""

from collections import Counter, defaultdict
from typing import Any

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import NOT_NULL, largest, longer_than
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, times
from kafkascope_spark.stories.tables import CLIENTS, REBALANCES

# One finding per group, about the longest generation in which a partition had two owners. The assignment holds until
# the next generation of the group begins. A static member that starts anew has the partitions of its own place.
_QUERY = """
with until as (
    select group_id, rebalance_id,
        lead(start_ns) over (partition by group_id order by start_ns, rebalance_id) as next_ns
    from rebalances
), owners as (
    select r.group_id, r.rebalance_id, r.generation, r.leader, r.end_ns, u.next_ns, r.assignor, r.evidence,
        coalesce(m.group_instance_id, m.member_id) as owner, m.client_instance_id, explode(m.assigned) as place
    from (select *, explode(members) as m from settled) r join until u on u.rebalance_id = r.rebalance_id
), twice as (
    select group_id, rebalance_id, generation, leader, end_ns, next_ns, assignor, place, first(evidence) as evidence,
        array_sort(collect_set(client_instance_id)) as client_instance_ids
    from owners group by group_id, rebalance_id, generation, leader, end_ns, next_ns, assignor, place
    having count(distinct owner) > 1
), ends as (
    select max(last_ns) as last_ns from clients
), generations as (
    select group_id, generation, leader, assignor, end_ns as first_ns, coalesce(next_ns, last_ns) as last_ns,
        array_sort(collect_set(place)) as places, first(evidence) as evidence,
        array_sort(array_distinct(flatten(collect_list(client_instance_ids)))) as client_instance_ids
    from twice cross join ends
    group by group_id, generation, leader, assignor, end_ns, next_ns, last_ns
), longest as (
    select group_id, count(*) as n, max_by(struct(*), struct(last_ns - first_ns, -first_ns)) as g
    from generations group by group_id
)
select l.group_id, l.n, g.generation, g.assignor, g.first_ns, greatest(g.last_ns, g.first_ns) as last_ns, g.places,
    slice(g.evidence, 1, 100) as evidence, null as client_instance_id,
    array_sort(collect_set(struct(c.client_id, c.client_ip))) as members,
    array_sort(collect_set(c.software_name)) as software_names, cast(null as array<string>) as conn_ids
from longest l join clients c on array_contains(g.client_instance_ids, c.client_instance_id)
group by l.group_id, l.n, g"""

_SETTLED = Where(
    REBALANCES, group_protocol="classic", protocol_type="consumer", end_ns=NOT_NULL, members=longer_than(1)
)
_NAMED_IN_FETCH = Where(PARTITIONS, api_key=api_keys.FETCH, direction="request", partition_offset=NOT_NULL)
_LAST = largest("ts_ns")
_PLACE = "concat(p.topic, '-', p.partition)"
# One finding per client and group: in the last generation it fetches partitions that the assignment gives to another
# member, which fetches them, too. Members begin with the partitions that they had: the first seconds are left out.
_READ_BY_ANOTHER = f"""
with latest as (
    select group_id, max_by(struct(end_ns, generation, members), struct(end_ns, rebalance_id)) as at
    from generations group by group_id
), members as (
    select group_id, at.generation, at.end_ns, m.client_instance_id, coalesce(m.assigned, array()) as assigned
    from (select group_id, at, explode(at.members) as m from latest)
    where m.client_instance_id is not null
), fetches as (
    select m.group_id, m.generation, m.end_ns, m.client_instance_id, {_PLACE} as place,
        array_contains(m.assigned, {_PLACE}) as is_owner, p.ts_ns, p.request_id, p.conn_id
    from members m join owners o on o.client_instance_id = m.client_instance_id
        join connection_clients c on c.client_instance_id = m.client_instance_id
        join partitions p on p.conn_id = c.conn_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'request' and p.partition_offset is not null
        and p.ts_ns - m.end_ns >= {limit.SAME_OFFSET_MS}000000L
), by_reader as (
    select group_id, generation, end_ns, client_instance_id, place, is_owner, count(*) as n, min(ts_ns) as first_ns,
        max(ts_ns) as last_ns, {first_ids(most=20)} as ids, collect_set(conn_id) as conn_ids
    from fetches group by group_id, generation, end_ns, client_instance_id, place, is_owner
), both as (
    select r.*, w.client_instance_id as owner, w.ids as owner_ids
    from by_reader r join by_reader w on w.group_id = r.group_id and w.place = r.place and w.is_owner
    where not r.is_owner and r.n >= {limit.ASKED_AGAIN} and w.n >= {limit.ASKED_AGAIN}
        and r.last_ns - r.first_ns >= {limit.SAME_OFFSET_MS}000000L and w.last_ns > r.first_ns
)
select b.group_id, b.generation, b.client_instance_id, max(c.client_id) as client_id, max(c.client_ip) as client_ip,
    sum(b.n) as n, min(b.end_ns) as first_ns, max(b.last_ns) as last_ns, array_sort(collect_set(b.place)) as places,
    array_sort(collect_set(struct(k.client_id, k.client_ip))) as assigned_to,
    slice(flatten(array_sort(collect_list(struct(b.place, b.owner, concat(b.ids, b.owner_ids) as ids))).ids), 1, 100)
        as evidence,
    array_sort(array_distinct(flatten(collect_list(b.conn_ids)))) as conn_ids
from both b join clients c on c.client_instance_id = b.client_instance_id
    join clients k on k.client_instance_id = b.owner
group by b.group_id, b.generation, b.client_instance_id"""


def _is_assigned_twice(tables: Tables) -> bool:
    """Whether two members of a generation have the same partition."""
    for members in tables["settled"]["members"].to_pylist():
        owners = {
            (each["group_instance_id"] or each["member_id"], p) for each in members for p in each["assigned"] or ()
        }
        if max(Counter(place for _, place in owners).values(), default=0) > 1:
            return True
    return False


def _is_read_by_another(tables: Tables) -> bool:
    """Whether a member fetched a partition for long that the last generation of its group gives to another one."""
    latest: dict[str, tuple[int, list[Any]]] = {}
    for group_id, end_ns, members in rows_of(tables["generations"], "group_id", "end_ns", "members"):
        if end_ns > latest.get(group_id, (-1, []))[0]:
            latest[group_id] = end_ns, members
    fetched: dict[str, dict[str, int]] = defaultdict(dict)
    fetches = with_client(tables["fetched_places"], tables["owners"])
    for client_id, topic, at, last_ns in rows_of(fetches, "client_instance_id", "topic", "partition", str(_LAST)):
        place = f"{topic}-{at}"
        fetched[client_id][place] = max(last_ns, fetched[client_id].get(place, 0))
    for end_ns, members in latest.values():
        owners = {(place, each["client_instance_id"]) for each in members for place in each["assigned"] or ()}
        assigned = {place for place, _ in owners}
        since_ns = end_ns + 2 * limit.SAME_OFFSET_MS * 1_000_000
        for client_id in {each["client_instance_id"] for each in members} & fetched.keys():
            read = {place for place, last_ns in fetched[client_id].items() if last_ns >= since_ns}
            if any((place, client_id) not in owners for place in read & assigned):
                return True
    return False


def _sentence_of_reader(f: Facts) -> str:
    owners = listed([client(each["client_id"], each["client_ip"]) for each in f.assigned_to])
    which = f"{listed(f.places)}, which {'is' if len(f.places) == 1 else 'are'}"
    return (
        f"{client(f.client_id, f.client_ip)} goes on fetching {which} assigned to {owners} in generation "
        f"{f.generation} of group {f.group_id} since {f.begin(f.first_ns)}: {times(f.n)} until {f.at(f.last_ns)}. Both "
        "read all records, so that they are processed twice"
    )


def _advice_on_reader(f: Facts) -> str:
    name = client(f.client_id, f.client_ip)
    return (
        f"Restart {name}, and update its library: after a rebalance a consumer has to stop fetching what it was not "
        "given again. If its application takes partitions by itself (assign()) besides the group's, or has not noticed "
        "the rebalance (no call of poll(), a listener that waits), mend that. Brokers do not check who fetches."
    )


def _sentence(f: Facts) -> str:
    which = f"{listed(f.places)} {'is' if len(f.places) == 1 else 'are'}"
    who = listed([client(member["client_id"], member["client_ip"]) for member in f.members])
    more = f" (likewise in {counted(f.n - 1, 'more generation')})" if f.n > 1 else ""
    return (
        f"{which} assigned to more than one member of group {f.group_id} in generation {f.generation} ({who}), from "
        f"{f.begin(f.first_ns)} on, for {duration(f.last_ns - f.first_ns)}{more}: each of them reads all records, so "
        "that they are processed twice, and their commits overwrite each other"
    )


_ADVICE = (
    "In such a group one of the members (the leader) assigns the partitions with its assignor, and not the "
    "coordinator: update its library, or "
    "let all members use another assignor (range or roundrobin in place of sticky: members "
    "that claim the same partitions from before, as where several consumers of a process share state, mislead "
    "sticky ones). Restart all members with it. Where an application gives each member all partitions on purpose, "
    "nothing is wrong, but commits of one group do not suit that: give each member a group of its own."
)
RULE = Rule(
    name="assigned_twice",
    title="Two members of a group have the same partition at the same time",
    severity="warning",
    meaning="Within a group each partition has one reader. The coordinator does not check what the leader of a classic "
    "group assigns, so that an error of its assignor shows in no error code: records are processed twice, and offsets "
    "go forth and back. Nor does a broker check who fetches: a member that does not notice that its partition went to "
    "another one reads on.",
    looks_at="The assignments of each generation of classic consumer groups (table rebalances): a topic-partition that "
    f"two members have; and Fetch requests ({limit.ASKED_AGAIN} or more, for {limit.SAME_OFFSET_MS // 1000} s or "
    "longer) of a member for a topic-partition that the last generation gives to another member, which fetches it, "
    "too.",
    advice=_ADVICE,
    sources=("KAFKA-7026", "KIP-341", "org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor"),
    detectors=(
        Detector(
            reads={"settled": _SETTLED},
            candidates=Candidates({"settled": ("members",)}, _is_assigned_twice),
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
        ),
        Detector(
            reads={
                "generations": _SETTLED,
                "fetched_places": Groups(_NAMED_IN_FETCH, per=("conn_id", "topic", "partition"), having=_LAST >= 0),
                "owners": Where(CLIENTS, conn_ids=longer_than(0), identity="sole"),
            },
            candidates=Candidates(
                {
                    "generations": ("group_id", "end_ns", "members"),
                    "fetched_places": ("conn_id", "topic", "partition", str(_LAST)),
                    "owners": ("client_instance_id", "conn_ids"),
                },
                _is_read_by_another,
            ),
            query=_READ_BY_ANOTHER,
            subject=fact("group_id"),
            sentence=_sentence_of_reader,
            advice=_advice_on_reader,
        ),
    ),
)
