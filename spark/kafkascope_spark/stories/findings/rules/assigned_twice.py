"""`assigned_twice`: a group's leader assigns a partition to two members of the same generation."""

from collections import Counter

from kafkascope_spark.stories.findings.candidates import Candidates, Tables
from kafkascope_spark.stories.findings.conditions import NOT_NULL, longer_than
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed
from kafkascope_spark.stories.tables import REBALANCES

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


def _is_assigned_twice(tables: Tables) -> bool:
    """Whether two members of a generation have the same partition."""
    for members in tables["settled"]["members"].to_pylist():
        owners = {
            (each["group_instance_id"] or each["member_id"], p) for each in members for p in each["assigned"] or ()
        }
        if max(Counter(place for _, place in owners).values(), default=0) > 1:
            return True
    return False


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
    title="A partition is assigned to two members of a group at the same time",
    severity="warning",
    meaning="Within a group each partition has one reader. The coordinator does not check what the leader of a classic "
    "group assigns, so that an error of its assignor shows in no error code: records are processed twice, and offsets "
    "go forth and back.",
    looks_at="The assignments of each generation of classic consumer groups (table rebalances): a topic-partition that "
    "two members have.",
    advice=_ADVICE,
    sources=("KAFKA-7026", "KIP-341", "org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor"),
    detectors=(
        Detector(
            reads={
                "settled": Where(
                    REBALANCES,
                    group_protocol="classic",
                    protocol_type="consumer",
                    end_ns=NOT_NULL,
                    members=longer_than(1),
                )
            },
            candidates=Candidates({"settled": ("members",)}, _is_assigned_twice),
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
        ),
    ),
)
