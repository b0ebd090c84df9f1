"""`unread_assignment`: a member of a group has a partition, and never fetches it."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, with_client
from kafkascope_spark.stories.findings.conditions import NOT_NULL, largest, longer_than
from kafkascope_spark.stories.findings.read import Groups, Read, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import USED
from kafkascope_spark.stories.findings.sql import literals
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed
from kafkascope_spark.stories.tables import CLIENTS, REBALANCES

_PLACE = "concat(topic, '-', partition) as place"
_ACCEPTED = Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="response", error_code=0)
_FETCHED = Where(PARTITIONS, api_key=api_keys.FETCH)
READ_APIS = (api_keys.FETCH, api_keys.SHARE_FETCH)
_LAST = largest("ts_ns")
_READS: dict[str, Read] = {
    "settled": Where(REBALANCES, end_ns=NOT_NULL, members=longer_than(0)),
    "accepted": _ACCEPTED,
    "written_places": Groups(_ACCEPTED, per=("topic", "partition"), having=_LAST >= 0),
    "fetched_places": Groups(_FETCHED, per=("conn_id", "topic", "partition"), having=_LAST >= 0),
    "owners": Where(CLIENTS, conn_ids=longer_than(0)),
}
_LAST_ASSIGNMENTS = """
latest as (
    select group_id, max_by(struct(end_ns, members), struct(end_ns, rebalance_id)) as at
    from settled group by group_id
), assigned as (
    select group_id, at.end_ns as since_ns, client_instance_id, explode(assigned) as place
    from (select group_id, at, inline(at.members) from latest)
)"""
# One finding per client and group: the partitions of its last assignment that it never fetched, although it fetched
# others and records were accepted there.
_QUERY = f"""
with {_LAST_ASSIGNMENTS}, fetched as (
    select client_instance_id, {_PLACE}, max(ts_ns) as last_ns
    from partitions join connection_clients using (conn_id) where api_key = {api_keys.FETCH} group by all
), reading as (
    select client_instance_id, max(last_ns) as last_ns from fetched group by client_instance_id
), written as (
    select {_PLACE}, count(*) as n_batches, min(ts_ns) as first_ns, max(ts_ns) as last_ns from accepted group by all
)
select a.client_instance_id, a.group_id, c.client_id, c.client_ip, c.software_name, min(a.since_ns) as first_ns,
    max(r.last_ns) as last_ns, sum(w.n_batches) as n, array_sort(collect_set(a.place)) as places,
    cast(null as array<string>) as evidence, max(c.conn_ids) as conn_ids
from assigned a join clients c using (client_instance_id) join reading r using (client_instance_id)
join written w on w.place = a.place and w.last_ns - a.since_ns >= {limit.UNREAD_MS}000000L
left anti join fetched f on f.client_instance_id = a.client_instance_id and f.place = a.place
where r.last_ns - a.since_ns >= {limit.UNREAD_MS}000000L
group by a.client_instance_id, a.group_id, c.client_id, c.client_ip, c.software_name"""


# One finding per client and group: a member that fetches nothing at all, and stays in the group. Fetch requests of the
# same host for the partition may be its own, where the clients of a host could not be distinguished.
_FETCHES_NOTHING = f"""
with {_LAST_ASSIGNMENTS}, readers as (
    select distinct client_instance_id from used join connection_clients using (conn_id)
    where api_key in {literals(READ_APIS)}
), fetched as (
    select distinct client_ip, {_PLACE}
    from partitions join (select conn_id, client_ip from connections) using (conn_id)
    where api_key in {literals(READ_APIS)}
), written as (
    select {_PLACE}, count(*) as n_batches, max(ts_ns) as last_ns from accepted group by all
)
select a.client_instance_id, a.group_id, c.client_id, c.client_ip, c.software_name, min(a.since_ns) as first_ns,
    max(c.last_ns) as last_ns, sum(w.n_batches) as n, array_sort(collect_set(a.place)) as places,
    cast(null as array<string>) as evidence, max(c.conn_ids) as conn_ids
from assigned a join owners c using (client_instance_id)
    join written w on w.place = a.place and w.last_ns - a.since_ns >= {limit.UNREAD_MS}000000L
    left anti join readers r on r.client_instance_id = a.client_instance_id
    left anti join fetched f on f.client_ip = c.client_ip and f.place = a.place
where c.last_ns - a.since_ns >= {limit.UNREAD_MS}000000L
group by a.client_instance_id, a.group_id, c.client_id, c.client_ip, c.software_name"""


def _some_fetch_nothing(tables: Tables) -> bool:
    """Whether a member was in its group for long without a Fetch, and records were written to its partitions."""
    readers = pc.is_in(tables["used"]["api_key"], pa.array(READ_APIS, tables["used"]["api_key"].type))
    reading = with_client(tables["used"].filter(readers), tables["owners"])
    owners = tables["owners"].select(["client_instance_id", "last_ns"])
    rows = _assigned(tables["settled"]).join(owners, "client_instance_id", join_type="inner", use_threads=False)
    written = _by_place(tables["written_places"], "written_ns")
    rows = rows.join(written, "place", join_type="inner", use_threads=False)
    for last in ("written_ns", "last_ns"):
        waited_ns = pc.subtract(rows[last], rows["since_ns"])
        rows = rows.filter(pc.greater_equal(waited_ns, limit.UNREAD_MS * 1_000_000))
    idle = rows.join(reading.select(["client_instance_id"]), "client_instance_id", join_type="left anti")
    return bool(idle.num_rows > 0)


def _some_are_unread(tables: Tables) -> bool:
    """Whether a member fetched for long, but never one of its partitions to which records were written."""
    written = _by_place(tables["written_places"], "written_ns")
    fetched = with_client(_by_place(tables["fetched_places"], "fetched_ns"), tables["owners"])
    reading = fetched.group_by("client_instance_id", use_threads=False).aggregate([("fetched_ns", "max")])
    rows = _assigned(tables["settled"]).join(written, "place", join_type="inner", use_threads=False)
    rows = rows.join(reading, "client_instance_id", join_type="inner", use_threads=False)
    for last in ("written_ns", "fetched_ns_max"):
        waited_ns = pc.subtract(rows[last], rows["since_ns"])
        rows = rows.filter(pc.greater_equal(waited_ns, limit.UNREAD_MS * 1_000_000))
    keys = ["client_instance_id", "place"]
    unread = rows.join(fetched.select(keys), keys, join_type="left anti", use_threads=False)
    return bool(unread.num_rows > 0)


def _by_place(groups: pa.Table, last: str) -> pa.Table:
    """Returns groups by topic-partition as text, with the time of the last use."""
    place = pc.binary_join_element_wise(groups["topic"], pc.cast(groups["partition"], pa.string()), "-")
    kept = [name for name in ("conn_id",) if name in groups.column_names]
    return groups.select(kept).append_column("place", place).append_column(last, groups[str(_LAST)])


def _assigned(settled: pa.Table) -> pa.Table:
    """Returns the last assignment of each group: client, topic-partition, and its begin."""
    order = [(name, "ascending") for name in ("group_id", "end_ns", "rebalance_id")]
    rows = settled.sort_by(order).combine_chunks()
    groups = pc.rank(rows["group_id"], tiebreaker="dense").to_numpy()
    latest = rows.take(np.flatnonzero(np.append(np.diff(groups) != 0, len(groups) > 0)))
    members = latest["members"].combine_chunks()
    each, group = pc.list_flatten(members), pc.list_parent_indices(members)
    partitions = pc.struct_field(each, "assigned")
    owner = pc.list_parent_indices(partitions)
    return pa.table(
        {
            "client_instance_id": pc.struct_field(each, "client_instance_id").take(owner),
            "place": pc.list_flatten(partitions),
            "since_ns": latest["end_ns"].take(group.take(owner)),
        }
    )


def _sentence(f: Facts) -> str:
    which = f"{listed(f.places)} {'is' if len(f.places) == 1 else 'are'}"
    return (
        f"{which} assigned to {client(f.client_id, f.client_ip)} in group {f.group_id} since {f.begin(f.first_ns)}, "
        f"which fetched others for {duration(f.last_ns - f.first_ns)} and never asked for "
        f"{'it' if len(f.places) == 1 else 'them'}, while {counted(f.n, 'batch', 'batches')} were written there"
    )


def _sentence_without_fetch(f: Facts) -> str:
    one = len(f.places) == 1
    return (
        f"{listed(f.places)} {'is' if one else 'are'} assigned to {client(f.client_id, f.client_ip)} in group "
        f"{f.group_id} since {f.begin(f.first_ns)}, which stayed in the group for {duration(f.last_ns - f.first_ns)} "
        f"and sent no Fetch at all, while {counted(f.n, 'batch', 'batches')} were written there"
    )


def _advice(f: Facts) -> str:
    return (
        f"Look at whether the application of {client(f.client_id, f.client_ip)} has paused {listed(f.places)}, or "
        "waits for something before it reads; else its library lost it on the way from the assignment to the fetch: "
        "restart it, so that the group assigns again, and upgrade the library."
    )


RULE = Rule(
    name="unread_assignment",
    title="A member of a group never fetches a partition that it has",
    severity="error",
    meaning="Nobody else in the group reads a partition that is assigned. Lag grows there alone, while the member "
    "looks well: it heartbeats, and reads its other partitions.",
    looks_at="Partitions of a member's last assignment that no Fetch of its connections names, for "
    f"{limit.UNREAD_MS // 1000} s or longer in which it fetched others, or stayed in the group and sent no Fetch at "
    "all, while brokers accepted records for them. A Fetch in a session names a partition when it is added.",
    advice="Look at whether the application paused the partition; else restart the member, and upgrade its library.",
    sources=("KIP-227", "org.apache.kafka.clients.consumer.internals.SubscriptionState"),
    detectors=(
        Detector(
            reads=_READS,
            candidates=Candidates(
                {
                    "settled": ("group_id", "end_ns", "rebalance_id", "members"),
                    "written_places": ("topic", "partition", str(_LAST)),
                    "fetched_places": ("conn_id", "topic", "partition", str(_LAST)),
                    "owners": ("client_instance_id", "conn_ids"),
                },
                _some_are_unread,
            ),
            query=_QUERY,
            subject=lambda f: listed(f.places),
            sentence=_sentence,
            advice=_advice,
        ),
        Detector(
            reads={
                "settled": _READS["settled"],
                "accepted": _ACCEPTED,
                "written_places": _READS["written_places"],
                "owners": Where(CLIENTS, conn_ids=longer_than(0), kind="consumer"),
                "used": USED,
            },
            candidates=Candidates(
                {
                    "settled": ("group_id", "end_ns", "rebalance_id", "members"),
                    "written_places": ("topic", "partition", str(_LAST)),
                    "owners": ("client_instance_id", "conn_ids", "last_ns"),
                    "used": ("conn_id", "api_key"),
                },
                _some_fetch_nothing,
            ),
            query=_FETCHES_NOTHING,
            subject=lambda f: listed(f.places),
            sentence=_sentence_without_fetch,
            advice=_advice,
        ),
    ),
    follows=Follows(
        kinds=BROKER_FAILURES | MOVES | {"client", "member", "slow_consumer", "not_fetched", "unexplained"}
    ),
)
