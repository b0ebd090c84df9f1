"""`latest_too_low`: ListOffsets returns a latest offset that is lower than the end of the log that was known before."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import above, all_of, any_of, at_least, first_known, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import LIST_OFFSETS_REQUESTS, NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, node

_PLACE = ("topic", "partition")
_LOOKUPS = Where(
    PARTITIONS, api_key=api_keys.LIST_OFFSETS, direction="response", error_code=0, partition_offset=at_least(0)
)
_ENDS = Where(
    PARTITIONS,
    any_of(
        all_of(api_key=api_keys.FETCH, high_watermark=above(0)),
        all_of(api_key=api_keys.PRODUCE, partition_offset=above(0)),
    ),
    direction="response",
    error_code=0,
)
_FIRST, _LAST = smallest("ts_ns"), largest("ts_ns")
_LOWEST, _LOWEST_END = smallest("partition_offset"), smallest(first_known("high_watermark", "partition_offset"))
LATEST = -1
"""Timestamp of ListOffsets for the end of the log: the high watermark, or the last stable offset for a consumer that
reads committed records."""
# One finding per client and server. `ends`: high watermarks in Fetch responses, and offsets that acks=all wrote, which
# are below the high watermark. The end of the log does not go back while later responses have it at the same place: a
# topic that was created again, or a log that was truncated, has no such responses. `ordered`: the highest end before
# and after each look-up, by windows: a join with all ends would grow with the square of the requests.
_QUERY = f"""
with asked as (
    select request_id, topic.name as topic, one.partition_index as partition
    from list_offsets_requests lateral view explode(topics) as topic lateral view explode(topic.partitions) as one
    where one.timestamp = {LATEST}
), latest as (
    select l.request_id, l.conn_id, l.topic, l.partition, l.partition_offset as latest, r.ts_ns, r.response_ns,
        coalesce(r.isolation_level, 0) as isolation_level
    from lookups l join asked a on a.request_id = l.request_id and a.topic = l.topic and a.partition = l.partition
        join requests r on r.request_id = l.request_id
), places as (
    select distinct topic, partition from latest
), ends as (
    select p.topic, p.partition, p.high_watermark as log_end, p.last_stable_offset as stable_end, r.ts_ns,
        r.response_ns, p.request_id
    from partitions p left semi join places x on x.topic = p.topic and x.partition = p.partition
        join requests r on r.request_id = p.request_id
    where p.api_key = {api_keys.FETCH} and p.direction = 'response' and p.error_code = 0 and p.high_watermark > 0
    union all
    select p.topic, p.partition, p.partition_offset as log_end, null as stable_end, r.ts_ns, r.response_ns,
        p.request_id
    from partitions p left semi join places x on x.topic = p.topic and x.partition = p.partition
        join requests r on r.request_id = p.request_id
    where p.api_key = {api_keys.PRODUCE} and p.direction = 'response' and p.error_code = 0 and r.acks = -1
), happened as (
    select topic, partition, request_id, response_ns as seen_ns, ts_ns as asked_ns, log_end, stable_end,
        cast(null as bigint) as latest, cast(null as int) as isolation_level
    from ends
    union all
    select topic, partition, request_id, ts_ns as seen_ns, response_ns as asked_ns, null, null, latest, isolation_level
    from latest
), ordered as (
    select topic, partition, request_id, latest, isolation_level,
        max(if(log_end is null, null, struct(log_end, seen_ns as response_ns, request_id))) over before as known,
        max(if(stable_end is null, null, struct(stable_end as log_end, seen_ns as response_ns, request_id)))
            over before as known_stable,
        max(if(log_end is null, null, struct(log_end, seen_ns as response_ns))) over after as later
    from happened
    window before as (partition by topic, partition order by seen_ns, log_end is not null
            rows between unbounded preceding and 1 preceding),
        after as (partition by topic, partition order by asked_ns desc, log_end is not null
            rows between unbounded preceding and 1 preceding)
), again as (
    select topic, partition, request_id, end_before as known, later.response_ns as again_ns
    from (select *, if(isolation_level = 0, known, known_stable) as end_before from ordered where latest is not null)
    where end_before.log_end > latest and later.log_end >= end_before.log_end
), began as (
    select a.request_id, a.topic, a.partition, min(struct(f.ts_ns, f.partition_offset)) as fetch
    from again a join latest l on l.request_id = a.request_id and l.topic = a.topic and l.partition = a.partition
        join connection_clients c on c.conn_id = l.conn_id
        join connection_clients own on own.client_instance_id = c.client_instance_id
        join partitions f on f.conn_id = own.conn_id and f.topic = a.topic and f.partition = a.partition
    where f.api_key = {api_keys.FETCH} and f.direction = 'request' and f.ts_ns >= l.response_ns
    group by a.request_id, a.topic, a.partition
)
select o.client_instance_id, o.client_id, o.client_ip, o.server, max(o.node_id) as node_id, count(*) as n,
    min(l.ts_ns) as first_ns, max(l.ts_ns) as last_ns, {first_ids("l.request_id", "l.ts_ns")} as evidence,
    collect_set(l.conn_id) as conn_ids, count(distinct l.topic, l.partition) as n_places,
    min_by(struct(concat(l.topic, '-', l.partition) as place, l.latest, a.known.log_end as log_end,
        a.known.response_ns as known_ns, a.again_ns as again_ns, g.fetch.partition_offset as began),
        struct(l.ts_ns, l.topic, l.partition)) as example
from again a join latest l on l.request_id = a.request_id and l.topic = a.topic and l.partition = a.partition
    join owned_connections o on o.conn_id = l.conn_id
    left join began g on g.request_id = a.request_id and g.topic = a.topic and g.partition = a.partition
where {NO_BROKER} and o.client_instance_id is not null
group by o.client_instance_id, o.client_id, o.client_ip, o.server"""


def _lowest_ends(tables: Tables) -> dict[tuple[str, int], tuple[int, int]]:
    """Returns the lowest end of the log that responses show for each topic-partition, and the time of the first one."""
    rows = rows_of(tables["ends_at"], *_PLACE, str(_LOWEST_END), str(_FIRST))
    return {(topic, partition): (end, first_ns) for topic, partition, end, first_ns in rows}


def _some_may_be_low(tables: Tables) -> bool:
    """Whether a look-up, of any end of the log, returned less than all ends at that place, which were known before."""
    ends = _lowest_ends(tables)
    rows = rows_of(tables["lookups_at"], *_PLACE, str(_LOWEST), str(_LAST))
    return any(_is_low(ends, (topic, partition), offset, last_ns) for topic, partition, offset, last_ns in rows)


def _some_are_latest(tables: Tables) -> bool:
    """Whether such a look-up was one of the latest offset."""
    ends = _lowest_ends(tables)
    rows = rows_of(tables["lookups"], "request_id", *_PLACE, "partition_offset", "ts_ns")
    low = {
        (request_id, topic, partition)
        for request_id, topic, partition, offset, ts_ns in rows
        if _is_low(ends, (topic, partition), offset, ts_ns)
    }
    return any(
        (request_id, topic["name"], one["partition_index"]) in low
        for request_id, topics in rows_of(tables["asked_ends"], "request_id", "topics")
        for topic in topics or ()
        for one in topic["partitions"] or ()
        if one["timestamp"] == LATEST
    )


def _is_low(ends: dict[tuple[str, int], tuple[int, int]], place: tuple[str, int], offset: int, ts_ns: int) -> bool:
    end, first_ns = ends.get(place, (0, 0))
    return first_ns < ts_ns and offset < end


def _sentence(f: Facts) -> str:
    each = f.example
    more = f" (and for {counted(f.n_places - 1, 'more topic-partition')})" if f.n_places > 1 else ""
    began = "" if each["began"] is None else f". The client then fetched from offset {each['began']} on"
    return (
        f"{node(f.node_id, f.server)} answered ListOffsets of {client(f.client_id, f.client_ip)} for the latest offset "
        f"of {each['place']}{more} with {each['latest']} at {f.begin(f.first_ns)}, although its log went on to offset "
        f"{each['log_end']} by a response at {f.at(each['known_ns'])} and still by one at {f.at(each['again_ns'])}"
        f"{began}"
    )


RULE = Rule(
    name="latest_too_low",
    title="The latest offset that a server returns is lower than the end of the log",
    severity="error",
    meaning="A consumer that has no committed offset, or is out of range, begins where ListOffsets says that the log "
    "ends. If the answer is too low, it reads records again that were handled long ago, and lag is computed wrongly. "
    "No error code shows it.",
    looks_at="ListOffsets for the latest offset, answered with less than a high watermark (last stable offset for "
    "consumers of committed records) that a Fetch response had before, or than an offset that acks=all had written, "
    "while a later response has that end again: a topic that was created again, or a truncated log, does not count.",
    advice="The client is not the cause: it believes what the server says. See what answers there (a gateway, a proxy, "
    "or a server that is not Apache Kafka), and update or report it. Until then set the group's offsets from the end "
    "that Fetch responses show, after stopping its consumers, if the records must not be handled again "
    "(kafka-consumer-groups.sh --reset-offsets skips what lies before the offset that is set).",
    sources=("org.apache.kafka.common.requests.ListOffsetsResponse", "KIP-98"),
    detectors=(
        Detector(
            reads={
                "lookups": _LOOKUPS,
                "lookups_at": Groups(_LOOKUPS, per=_PLACE, having=all_of(_LOWEST >= 0, _LAST >= 0)),
                "ends_at": Groups(_ENDS, per=_PLACE, having=all_of(_LOWEST_END >= 0, _FIRST >= 0)),
                "asked_ends": Where(LIST_OFFSETS_REQUESTS),
            },
            candidates=Candidates(
                {
                    "lookups_at": (*_PLACE, str(_LAST), str(_LOWEST)),
                    "ends_at": (*_PLACE, str(_FIRST), str(_LOWEST_END)),
                },
                _some_may_be_low,
                then=Candidates(
                    {
                        "lookups": ("request_id", *_PLACE, "partition_offset", "ts_ns"),
                        "ends_at": (*_PLACE, str(_FIRST), str(_LOWEST_END)),
                        "asked_ends": ("request_id", "topics"),
                    },
                    _some_are_latest,
                ),
            ),
            query=_QUERY,
            subject=lambda f: f.example["place"],
            sentence=_sentence,
        ),
    ),
)
