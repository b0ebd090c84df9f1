"""`position_beyond_end`: a consumer waits at an offset that is beyond the end of the log."""

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, with_client
from kafkascope_spark.stories.findings.conditions import (
    all_of,
    at_least,
    count,
    largest,
    longer_than,
    none_of,
    smallest,
)
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, node, times
from kafkascope_spark.stories.tables import CLIENTS

_PLACE = ("conn_id", "topic", "partition")
_ASKED = Where(PARTITIONS, api_key=api_keys.FETCH, direction="request", partition_offset=at_least(1))
_ANSWERED = Where(PARTITIONS, api_key=api_keys.FETCH, direction="response", error_code=0, high_watermark=at_least(0))
_CONSUMERS = Where(CLIENTS, conn_ids=longer_than(0), kind=none_of("broker"))
_OFFSET, _END = largest("partition_offset"), largest("high_watermark")
_IS_LONG = largest("ts_ns") - smallest("ts_ns") >= limit.SAME_OFFSET_MS * 1_000_000
_BY_PLACE = ", ".join(_PLACE)
# One finding per client. `positions`: each response with the offset that was asked for last before it, as Fetch
# requests of a session name only what has changed. Consumers that come to the end of the log ask for that offset;
# those that are beyond it to the end of the connection are left.
_QUERY = f"""
with beyond as (
    select {_BY_PLACE} from asked_at join (
        select {_BY_PLACE}, max(high_watermark) as log_end from partitions where {_ANSWERED.condition}
        group by {_BY_PLACE}
    ) using ({_BY_PLACE}) join (
        select {_BY_PLACE}, max(partition_offset) as position from partitions where {_ASKED.condition}
        group by {_BY_PLACE}
    ) using ({_BY_PLACE})
    where position > log_end
), positions as (
    select request_id, {_BY_PLACE}, ts_ns, direction, high_watermark, log_start_offset, error_code,
        last_value(if(direction = 'request', partition_offset, null), true)
            over (partition by {_BY_PLACE} order by ts_ns, direction, request_id) as position
    from partitions left semi join beyond using ({_BY_PLACE}) where api_key = {api_keys.FETCH}
), waited as (
    select {_BY_PLACE}, max(position) as position, min(high_watermark) as first_end, max(high_watermark) as log_end,
        max(log_start_offset) as log_start, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        {first_ids()} as evidence
    from positions
    where direction = 'response' and error_code = 0 and high_watermark >= 0 and position > high_watermark
    group by {_BY_PLACE}
    having count(*) >= {limit.ASKED_AGAIN} and max(ts_ns) - min(ts_ns) >= {limit.SAME_OFFSET_MS}000000L
), by_client as (
    select o.client_instance_id, o.client_id, o.client_ip, o.software_name, max(k.group_id) as group_id,
        {
    ", ".join(
        f"min_by(w.{name}, struct(w.first_ns, w.topic, w.partition)) as {name}"
        for name in ("position", "first_end", "log_end", "evidence")
    )
},
        min_by(concat(w.topic, '-', w.partition), struct(w.first_ns, w.topic, w.partition)) as place,
        min_by(struct(o.server, o.node_id), struct(w.first_ns, w.topic, w.partition)) as asked,
        array_sort(collect_set(concat(w.topic, '-', w.partition))) as places, sum(w.n) as n,
        min(w.first_ns) as first_ns, max(w.last_ns) as last_ns, array_sort(collect_set(w.conn_id)) as conn_ids
    from waited w join owned_connections o on o.conn_id = w.conn_id
        left join clients k on k.client_instance_id = o.client_instance_id
    where o.client_instance_id is not null and coalesce(o.kind, '') != 'broker'
    group by o.client_instance_id, o.client_id, o.client_ip, o.software_name
)
select *, if(log_end > first_end, 'error', 'warning') as severity from by_client"""


def _some_are_beyond(tables: Tables) -> bool:
    """Whether the highest offset that a client asked for on a connection is beyond each end of the log in its
    responses. Replicas always ask for offsets beyond the high watermark."""
    asked, ends = with_client(tables["asked_at"], tables["consumers"]), tables["ends_at"]
    rows = asked.join(ends, list(_PLACE), join_type="inner", use_threads=False)
    return bool(pc.any(pc.greater(rows[str(_OFFSET)], rows[str(_END)])).as_py())


def _sentence(f: Facts) -> str:
    of_group = f" (group {f.group_id})" if f.group_id else ""
    grew = (
        f", which goes on from {f.first_end} to {f.log_end} meanwhile: {counted(f.log_end - f.first_end, 'record')} "
        "that it does not get"
        if f.log_end > f.first_end
        else ""
    )
    more = f"; so on {listed(f.places)}" if len(f.places) > 1 else ""
    return (
        f"{client(f.client_id, f.client_ip)}{of_group} asks {node(f.asked['node_id'], f.asked['server'])} for offset "
        f"{f.position} of {f.place}, {times(f.n)} in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} to "
        f"the end of the connection. That is beyond the end of the log{grew}{more}. The responses have no error, so "
        "that the consumer waits until the log has grown that far"
    )


def _advice(f: Facts) -> str:
    whose = f"group {f.group_id}" if f.group_id else client(f.client_id, f.client_ip)
    return (
        f"Find out where offset {f.position} comes from: {f.place} may have been created again or have lost records "
        "(its offsets begin lower then), or the offsets were copied from another cluster, where the same records have "
        f"other offsets. Stop {whose}, set its offset by the time up to which it has really read "
        "(kafka-consumer-groups.sh --reset-offsets --to-datetime TIME --dry-run, then --execute; some records may be "
        "read again), and start it again. The end of the log as its offset would skip what it has not read."
    )


RULE = Rule(
    name="position_beyond_end",
    title="A consumer waits at an offset that is beyond the end of the log",
    severity="error",
    meaning="Brokers refuse such an offset with OFFSET_OUT_OF_RANGE if it is beyond the log of the leader. Below that, "
    "or where a server of another make does not check it, responses are empty and without an error: the consumer looks "
    "idle, and its lag is negative or 0, until the log has grown past its position.",
    looks_at=f"Fetch responses without an error whose high watermark is lower than the offset that was asked for, "
    f"{limit.ASKED_AGAIN} times or more for {limit.SAME_OFFSET_MS // 1000} s or longer, to the end of the connection. "
    "An error if the log grew meanwhile.",
    advice="Find out where the offset comes from: a topic that was created again, records that were lost, offsets of "
    "another cluster; set the group's offset by time.",
    sources=("KIP-101", "KIP-207", "kafka.server.ReplicaManager of the brokers"),
    detectors=(
        Detector(
            reads={
                "asked_at": Groups(_ASKED, per=_PLACE, having=_OFFSET >= 1),
                "ends_at": Groups(
                    _ANSWERED, per=_PLACE, having=all_of(_END >= 0, count() >= limit.ASKED_AGAIN, _IS_LONG)
                ),
                "consumers": _CONSUMERS,
            },
            candidates=Candidates(
                {
                    "asked_at": (*_PLACE, str(_OFFSET)),
                    "ends_at": (*_PLACE, str(_END)),
                    "consumers": ("client_instance_id", "conn_ids"),
                },
                _some_are_beyond,
            ),
            query=_QUERY,
            subject=lambda f: f.place,
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
