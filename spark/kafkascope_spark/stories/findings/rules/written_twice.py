"""`written_twice`: a producer sends records again that the broker had already written, and the broker cannot recognize
them."""

from collections import defaultdict
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import above
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, listed
from kafkascope_spark.stories.tables import CLIENTS

_WRITTEN_ERRORS = ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT")
_SAME = "client_ip, topic, partition, n_records, first_timestamp_ms, max_timestamp_ms, record_bytes"
# One finding per client and topic. Batches with the same number of records, bytes and create times are the same
# records. A broker that recognizes a batch responds with the offset that it has. The first response has no offset; its
# batch follows the last accepted one, so a second copy lies that many records further, if nobody else writes there.
_QUERY = f"""
with sent as (
    select b.request_id, b.conn_id, b.ts_ns, c.client_ip, b.topic, b.partition, b.n_records, b.first_timestamp_ms,
        b.max_timestamp_ms, b.record_bytes, a.error_name, if(a.error_code = 0, a.partition_offset, null) as base_offset,
        c.client_instance_id, c.client_id, c.software_name,
        size(collect_set(c.client_instance_id) over (partition by b.topic, b.partition)) as n_writers
    from batches b join owned_connections c on b.conn_id = c.conn_id
        join answers a on a.request_id = b.request_id and a.topic = b.topic and a.partition = b.partition
    where {NO_BROKER} and b.first_timestamp_ms is not null
), ordered as (
    select *, max(base_offset + n_records) over (
        partition by topic, partition order by ts_ns, request_id rows between unbounded preceding and 1 preceding
    ) as next_offset
    from sent
), appended as (
    select * from ordered where error_name in {literals(_WRITTEN_ERRORS)}
), again as (
    select f.*, s.request_id as again_id, s.ts_ns as again_ns, s.base_offset as again_offset,
        row_number() over (partition by f.request_id, f.topic, f.partition order by s.ts_ns, s.request_id) as place
    from appended f join sent s using ({_SAME})
    where s.ts_ns > f.ts_ns and s.base_offset is not null
)
select client_instance_id, client_id, client_ip, software_name, topic,
    array_sort(collect_set(error_name)) as errors,
    count(*) as n, sum(n_records) as n_records, min(ts_ns) as first_ns, max(again_ns) as last_ns,
    {first_ids("again_id", "again_ns")} as evidence, collect_set(conn_id) as conn_ids
from again
where place = 1 and n_writers = 1 and again_offset - next_offset >= n_records
group by client_instance_id, client_id, client_ip, software_name, topic"""


_PLACE = ["topic", "partition"]
_BATCH = ("request_id", "topic", "partition", "conn_id", "ts_ns")
_RECORDS = ("n_records", "first_timestamp_ms", "max_timestamp_ms", "record_bytes")
_ANSWER = ("request_id", "topic", "partition", "error_code", "error_name", "partition_offset")


def _is_accepted_behind_itself(tables: Tables) -> bool:
    """Whether a batch that got such an error was accepted later, so far behind what had been accepted before the error
    that its first copy has room in between."""
    answers, of_brokers = tables["answers"], _connections_of_brokers(tables["all_clients"])
    refused = answers.filter(pc.is_in(answers["error_name"], pa.array(_WRITTEN_ERRORS)))
    places = refused.select(_PLACE).group_by(_PLACE, use_threads=False).aggregate([])
    answers, batches = (
        rows.join(places, _PLACE, join_type="inner", use_threads=False) for rows in (answers, tables["batches"])
    )
    answered = {
        tuple(at): (error_name in _WRITTEN_ERRORS, offset if error_code == 0 else None)
        for *at, error_code, error_name, offset in rows_of(answers, *_ANSWER)
    }
    sent = defaultdict(list)
    for *at, conn_id, ts_ns, n, first_ms, last_ms, n_bytes in rows_of(batches, *_BATCH, *_RECORDS):
        if tuple(at) in answered and conn_id not in of_brokers and None not in (ts_ns, first_ms):
            is_refused, offset = answered[tuple(at)]
            sent[tuple(at[1:])].append(_Batch(ts_ns, at[0], (n, first_ms, last_ms, n_bytes), offset, is_refused))
    return any(map(_has_copy, sent.values()))


def _connections_of_brokers(clients: pa.Table) -> set[str]:
    return {
        conn_id
        for kind, conn_ids in rows_of(clients, "kind", "conn_ids")
        if kind == "broker"
        for conn_id in conn_ids or ()
    }


class _Batch(NamedTuple):
    """A batch of a topic-partition. records: the number of records and what else batches of the same records have in
    common; offset: where it was accepted; is_refused: whether it got one of _WRITTEN_ERRORS."""

    ts_ns: int
    request_id: str
    records: tuple[Any, ...]
    offset: int | None
    is_refused: bool


def _has_copy(batches: list[_Batch]) -> bool:
    """Whether there are such batches in one topic-partition."""
    next_offset: int | None = None
    least_offsets: dict[tuple[Any, ...], int] = {}
    for batch in sorted(batches, key=lambda each: (each.ts_ns, each.request_id)):
        n_records = batch.records[0]
        if batch.offset is not None:
            if batch.offset >= least_offsets.get(batch.records, batch.offset + 1):
                return True
            end = batch.offset + n_records
            next_offset = end if next_offset is None else max(next_offset, end)
        elif batch.is_refused and next_offset is not None:
            least_offsets.setdefault(batch.records, next_offset + n_records)
    return False


def _sentence(f: Facts) -> str:
    return (
        f"{counted(f.n_records, 'record')} of {f.topic} from {client(f.client_id, f.client_ip)} "
        f"{'is' if f.n_records == 1 else 'are'} in the log again: {counted(f.n, 'batch', 'batches')} got "
        f"{listed(f.errors)}, which says that the leader had written it, first at {f.begin(f.first_ns)}, and the "
        "producer sent the same records again, which brokers wrote at other offsets"
    )


_ADVICE = (
    "Make the producer idempotent (enable.idempotence=true of Java and librdkafka): brokers then recognize a batch "
    "that is sent again, as long as it has the epoch and the sequence of the first time. Where it is, update the "
    "library: after such an error, and after OUT_OF_ORDER_SEQUENCE_NUMBER for the batches behind, it must not begin a "
    "new epoch. Let consumers of the topic drop what they have seen. What led to it: too few in-sync replicas, "
    "followers that are slow, or a request timeout that is shorter than the answers take."
)


RULE = Rule(
    name="written_twice",
    title="Records are written twice",
    severity="error",
    meaning="NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT do not say that nothing was written: the leader "
    "has the records, and only its followers were too few or too slow. A producer that sends them again with another "
    "epoch, another sequence or none has them written a second time.",
    looks_at="Produce requests with the same number of records, bytes and create times for one topic-partition from "
    f"one address: one that got {' or '.join(_WRITTEN_ERRORS)}, and a later one that was accepted behind the place "
    "that the first one has, where nobody else in the capture writes to the partition. A broker that recognizes the "
    "batch answers with the offset of the first. A writer that is not in the capture looks the same, and so does a "
    "program that writes equal records in the same millisecond.",
    advice=_ADVICE,
    sources=(
        "KIP-98",
        "KIP-360",
        "org.apache.kafka.common.errors.NotEnoughReplicasAfterAppendException",
        "org.apache.kafka.clients.producer.internals.TransactionManager",
    ),
    detectors=(
        Detector(
            reads={
                "appended_errors": Where(ERRORS, error_name=_WRITTEN_ERRORS, api_key=api_keys.PRODUCE),
                "batches": Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="request", n_records=above(0)),
                "answers": Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="response"),
                "all_clients": Where(CLIENTS),
            },
            candidates=Candidates(
                {
                    "batches": (*_BATCH, *_RECORDS),
                    "answers": _ANSWER,
                    "all_clients": ("kind", "conn_ids"),
                },
                _is_accepted_behind_itself,
            ),
            query=_QUERY,
            subject=fact("topic"),
            sentence=_sentence,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication", "too_few_replicas"}, any_broker=True),
)
