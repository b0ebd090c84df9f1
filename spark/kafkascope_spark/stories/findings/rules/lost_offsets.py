"""`lost_offsets`: committed offsets of a group no longer exist, and its consumers begin elsewhere."""

import shlex
from collections import defaultdict
from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, any_of, at_least, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.wording import SECURED, client, counted
from kafkascope_spark.stories.settings import setting

_ABSENT = Where(PARTITIONS, api_key=api_keys.OFFSET_FETCH, direction="response", partition_offset=-1)
_AT = ("conn_id", "topic", "partition")
_LAST, _FIRST = largest("ts_ns"), smallest("ts_ns")
_ABSENT_PLACES = Groups(_ABSENT, per=_AT, having=_LAST >= 0)
_KNOWN_PLACES = Groups(
    Where(
        PARTITIONS,
        any_of(
            all_of(api_key=api_keys.OFFSET_COMMIT, direction="request"),
            all_of(api_key=api_keys.OFFSET_FETCH, direction="response"),
        ),
        partition_offset=at_least(0),
    ),
    per=_AT,
    having=_FIRST >= 0,
)
_GROUPS_ON_CONNECTION = Groups(
    Where(REQUESTS, api_key=(api_keys.OFFSET_COMMIT, api_keys.OFFSET_FETCH), group_id=NOT_NULL),
    per=("conn_id", "group_id"),
)
_PLACE = "cluster, group_id, topic, partition"
_EVIDENCE = "array(found.known.request_id, coalesce(by.request_id, found.request_id), found.request_id)"
_IS_OK = "r.status = 'ok' and coalesce(r.n_errors, 0) = 0"
# One finding per client, group and topic. `gone`: the first OffsetFetch of each partition that found no offset although
# the capture has a commit that was accepted, or an OffsetFetch that found one, before it was sent; `known`: the last of
# these.
# `deleted`: the last request in between that deleted it. `began`: offset at which the client continued.
_QUERY = f"""
with absent as (
    select r.cluster, r.group_id, a.topic, a.partition, coalesce(r.ts_ns, a.ts_ns) as ts_ns, a.request_id, a.conn_id
    from absent_offsets a join requests r on a.request_id = r.request_id
    where r.api_key = {api_keys.OFFSET_FETCH} and r.group_id is not null and coalesce(a.error_code, 0) = 0
), committed as (
    select r.cluster, r.group_id, p.topic, p.partition, coalesce(r.response_ns, p.ts_ns) as ts_ns,
        p.partition_offset as offset, p.request_id
    from partitions p join requests r on p.request_id = r.request_id
    where r.api_key in ({api_keys.OFFSET_COMMIT}, {api_keys.OFFSET_FETCH}) and p.partition_offset >= 0 and {_IS_OK}
        and exists (select 1 from absent) and (
        (p.api_key = {api_keys.OFFSET_COMMIT} and p.direction = 'request')
        or (p.api_key = {api_keys.OFFSET_FETCH} and p.direction = 'response' and coalesce(p.error_code, 0) = 0))
), gone as (
    select {_PLACE}, min(struct(ts_ns, request_id, conn_id, known)) as found from (
        select {", ".join(f"a.{name}" for name in _PLACE.split(", "))}, a.ts_ns, a.request_id, a.conn_id,
            max(struct(c.ts_ns, c.offset, c.request_id)) as known
        from absent a join committed c on a.cluster <=> c.cluster and a.group_id = c.group_id and a.topic = c.topic
            and a.partition = c.partition and c.ts_ns < a.ts_ns
        group by all
    ) group by {_PLACE}
), deleted as (
    select g.cluster, g.group_id, g.topic, g.partition,
        max(struct(r.ts_ns, r.request_id, r.client_id, r.client_ip, r.conn_id)) as by
    from gone g join requests r on g.cluster <=> r.cluster and g.group_id = r.group_id
        and r.ts_ns between g.found.known.ts_ns and g.found.ts_ns
        join partitions p on p.request_id = r.request_id and p.topic = g.topic and p.partition = g.partition
    where r.api_key = {api_keys.OFFSET_DELETE} and p.direction = 'request' and {_IS_OK}
    group by all
), owned as (
    select explode(conn_ids) as conn_id, conn_ids as own_conns, client_instance_id, client_id, client_ip from clients
), places as (
    select g.*, o.own_conns, o.client_instance_id, o.client_id, o.client_ip
    from gone g join owned o on g.found.conn_id = o.conn_id
), began as (
    select /*+ broadcast(x) */ {", ".join(f"x.{name}" for name in _PLACE.split(", "))},
        min(struct(p.ts_ns, p.partition_offset as offset, p.request_id)) as next
    from places x join partitions p on array_contains(x.own_conns, p.conn_id) and p.topic = x.topic
        and p.partition = x.partition and p.ts_ns between x.found.ts_ns
            and x.found.ts_ns + {limit.RESET_AFTER_MS} * 1000000L
    where p.api_key = {api_keys.FETCH} and p.direction = 'request' and p.partition_offset >= 0
    group by all
), moves as (
    select x.*, next, by, next.offset - found.known.offset as moved
    from places x join began using ({_PLACE}) left join deleted using ({_PLACE})
)
select client_instance_id, client_id, client_ip, group_id, topic, count(*) as n, min(found.ts_ns) as first_ns,
    max(next.ts_ns) as last_ns, min(by) as by, min(struct(found.known.offset as old_offset,
        next.offset as new_offset, found.known.ts_ns as known_ns, partition)) as example,
    try_sum(greatest(moved, 0)) as n_skipped, try_sum(greatest(-moved, 0)) as n_again,
    {joined_lists(_EVIDENCE, "found.ts_ns, partition")} as evidence,
    collect_set(found.conn_id) as conn_ids, if(max(moved) > 0, 'error', 'warning') as severity
from moves where moved != 0
group by client_instance_id, client_id, client_ip, group_id, topic"""


def _had_one_before(tables: Tables) -> bool:
    """Returns whether a group had an offset of a topic-partition before it was told that it has none."""
    groups, first_ns = defaultdict(list), dict[tuple[str, str, int], int]()
    for conn_id, group_id in rows_of(tables["groups_on_connection"], "conn_id", "group_id"):
        groups[conn_id].append(group_id)
    for conn_id, *place, ns in rows_of(tables["known_places"], *_AT, str(_FIRST)):
        for group_id in groups[conn_id]:
            first_ns[group_id, *place] = min(ns, first_ns.get((group_id, *place), ns))
    return any(
        first_ns.get((group_id, *place), ns) < ns
        for conn_id, *place, ns in rows_of(tables["absent_places"], *_AT, str(_LAST))
        for group_id in groups[conn_id]
    )


def _sentence(f: Facts) -> str:
    e = f.example
    more = f", likewise {counted(f.n - 1, 'more partition')}" if f.n > 1 else ""
    return (
        f"Group {f.group_id} had committed offset {e['old_offset']} of {f.topic}-{e['partition']} by "
        f"{f.begin(e['known_ns'])}, and at {f.begin(f.first_ns)} it had none: {client(f.client_id, f.client_ip)} began "
        f"at {e['new_offset']}{more}. {_by(f)}{_effect(f)}"
    )


def _by(f: Facts) -> str:
    if f.by is None:
        return "Who deleted it is not in the capture. "
    return f"{client(f.by['client_id'], f.by['client_ip'])} deleted it (OffsetDelete, {f.begin(f.by['ts_ns'])}). "


def _effect(f: Facts) -> str:
    again = f"It reads {counted(f.n_again, 'record')} again" if f.n_again else ""
    skipped = f"{'and' if again else 'It'} skips {counted(f.n_skipped, 'record')}" if f.n_skipped else ""
    return " ".join(part for part in (again, skipped) if part)


def _advice(libraries: Collection[str], group_id: str = "GROUP", topic: str = "TOPIC") -> str:
    return (
        "Find out who deletes offsets of the group (kafka-consumer-groups.sh --delete-offsets or --delete, a tool that "
        "cleans up). Where nobody does: brokers drop offsets of a group without members after "
        "offsets.retention.minutes (default 10080), and those of a topic that is deleted. To go on where the group "
        "was, stop it and set the offsets back to those named here; what it has processed since is read twice then. "
        "Without --execute the command only shows what it would do: kafka-consumer-groups.sh --bootstrap-server "
        f"BROKER:9092 --group {shlex.quote(group_id)} --topic {shlex.quote(topic)} --reset-offsets --to-offset OFFSET "
        f"({SECURED}). {setting('offset_reset', libraries)}=none stops consumers that find no offset, instead of "
        "letting them begin at an end of the log."
    )


RULE = Rule(
    name="lost_offsets",
    title="Offsets that a group had committed are gone",
    severity="warning",
    meaning=(
        "A consumer asks for the committed offsets of its group (OffsetFetch), and the response says that nothing "
        "is committed, although the group had committed before. It begins at the end of the log that "
        "auto.offset.reset names: it reads records again (earliest), or never reads what came since its last commit "
        "(latest). No error reports that."
    ),
    looks_at="OffsetFetch that finds no offset for a partition of which the capture has an earlier commit that was "
    "accepted, or an earlier OffsetFetch that found one; the Fetch of the same client after it says where it began, "
    f"within {limit.RESET_AFTER_MS / 1000:g} s; OffsetDelete in between says who deleted it. A consumer that begins "
    "where its group was is no finding.",
    advice=_advice(()),
    sources=("KIP-496", "KIP-211", "auto.offset.reset of the consumer settings"),
    detectors=(
        Detector(
            reads={
                "absent_offsets": _ABSENT,
                "absent_places": _ABSENT_PLACES,
                "known_places": _KNOWN_PLACES,
                "groups_on_connection": _GROUPS_ON_CONNECTION,
            },
            candidates=Candidates(
                {
                    "absent_places": (*_AT, str(_LAST)),
                    "known_places": (*_AT, str(_FIRST)),
                    "groups_on_connection": ("conn_id", "group_id"),
                },
                _had_one_before,
            ),
            query=_QUERY,
            subject=fact("topic"),
            sentence=_sentence,
            advice=lambda f: _advice(f.libraries, f.group_id or "GROUP", f.topic),
        ),
    ),
)
