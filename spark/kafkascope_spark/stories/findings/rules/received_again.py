"""`received_again`: a consumer is sent the same records several times, although it makes progress."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import above, all_of, at_least, count, largest, smallest, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, size

_PLACE = ("conn_id", "topic", "partition")
_BY_PLACE = ", ".join(_PLACE)
_GOT = Where(
    PARTITIONS,
    api_key=api_keys.FETCH,
    direction="response",
    first_offset=at_least(0),
    last_offset=at_least(0),
    n_records=above(0),
)
_FIRST, _LAST, _RECORDS = smallest("first_offset"), largest("last_offset"), total("n_records")
_IS_LONG = largest("ts_ns") - smallest("ts_ns") >= limit.SAME_OFFSET_MS * 1_000_000
# One finding per client. `again`: responses whose records are all among those of earlier responses on the connection.
_QUERY = f"""
with got as (
    select p.request_id, {", ".join(f"p.{name}" for name in _PLACE)}, p.ts_ns, p.last_offset, p.n_records,
        p.record_bytes, max(p.last_offset) over (partition by {", ".join(f"p.{name}" for name in _PLACE)}
            order by p.ts_ns, p.request_id rows between unbounded preceding and 1 preceding) as highest
    from partitions p left semi join repeated r
        on r.conn_id = p.conn_id and r.topic = p.topic and r.partition = p.partition
    where p.api_key = {api_keys.FETCH} and p.direction = 'response' and p.first_offset >= 0 and p.last_offset >= 0
        and p.n_records > 0
), by_place as (
    select {_BY_PLACE}, count(*) as n_responses, count_if(last_offset <= highest) as n,
        try_sum(if(last_offset <= highest, record_bytes, 0)) as n_bytes, try_sum(record_bytes) as n_bytes_of_all,
        min(if(last_offset <= highest, ts_ns, null)) as first_ns,
        max(if(last_offset <= highest, ts_ns, null)) as last_ns,
        {first_ids("if(last_offset <= highest, request_id, null)", "ts_ns")} as evidence
    from got group by {_BY_PLACE}
), wasted as (
    select b.*, {CLIENT} from by_place b join connection_clients c on c.conn_id = b.conn_id
    where n >= {limit.ASKED_AGAIN} and n * 2 >= n_responses and last_ns - first_ns >= {limit.SAME_OFFSET_MS}000000L
        and {NO_BROKER}
)
select {CLIENT}, sum(n) as n, sum(n_responses) as n_responses, try_sum(n_bytes) as n_bytes,
    try_sum(n_bytes_of_all) as n_bytes_of_all, array_sort(collect_set(concat(topic, '-', partition))) as places,
    min(first_ns) as first_ns, max(last_ns) as last_ns,
    slice({joined_lists("evidence", "first_ns, conn_id, topic, partition")}, 1, 100) as evidence,
    array_sort(collect_set(conn_id)) as conn_ids
from wasted group by {CLIENT}"""


def _some_are_repeated(tables: Tables) -> bool:
    """Whether a connection got half as many records again as there are between the first and the last one."""
    rows = rows_of(tables["repeated"], str(_FIRST), str(_LAST), str(_RECORDS))
    return any(2 * n_records >= 3 * (last - first + 1) for first, last, n_records in rows)


def _sentence(f: Facts) -> str:
    wasted = (
        "" if f.n_bytes is None or f.n_bytes_of_all is None else f" ({size(f.n_bytes)} of {size(f.n_bytes_of_all)})"
    )
    return (
        f"{client(f.client_id, f.client_ip)} was sent records of {listed(f.places)} again that it had got before, in "
        f"{f.n} of {counted(f.n_responses, 'Fetch response')} with records{wasted}, in "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}: it fetches the same offsets several times "
        "before it goes on to later ones. The brokers answer what is asked"
    )


def _advice(f: Facts) -> str:
    return (
        f"Update the library of {client(f.client_id, f.client_ip)}: consumers that pause and resume partitions "
        "(frameworks with back-pressure do that for each few records) threw away what they had fetched before Kafka "
        "2.4 (KAFKA-7548), and fetch it again. If the application seeks back after errors, let it pause between "
        "attempts. A smaller fetch size (max.partition.fetch.bytes) makes the loss smaller until then. Brokers and "
        "network carry the records several times, and are not the cause."
    )


RULE = Rule(
    name="received_again",
    title="A consumer is sent the same records several times before it goes on",
    severity="warning",
    meaning="The consumer makes progress, and slowly: most of what it fetches it throws away, and fetches again. Its "
    "lag grows while brokers and the network are busy with records that they have sent before.",
    looks_at="Fetch responses on one connection whose records were all in earlier responses on it: at least half of "
    f"those with records for a topic-partition, {limit.ASKED_AGAIN} or more, over {limit.SAME_OFFSET_MS // 1000} s or "
    "longer. A consumer that does not get on at all is left to same_offset_again.",
    advice="Update the consumer's library; see whether its application pauses partitions or seeks back all the time.",
    sources=("KAFKA-7548", "org.apache.kafka.clients.consumer.internals.FetchBuffer"),
    detectors=(
        Detector(
            reads={
                "repeated": Groups(
                    _GOT,
                    per=_PLACE,
                    having=all_of(_FIRST >= 0, _LAST >= 0, _RECORDS >= 1, count() >= limit.ASKED_AGAIN, _IS_LONG),
                )
            },
            candidates=Candidates({"repeated": (str(_FIRST), str(_LAST), str(_RECORDS))}, _some_are_repeated),
            query=_QUERY,
            subject=lambda f: listed(f.places),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    unless=("same_offset_again", "unreadable_batches"),
)
