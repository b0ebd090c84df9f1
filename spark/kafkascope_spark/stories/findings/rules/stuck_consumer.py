"""`stuck_consumer`: a read_committed consumer waits behind a transaction that does not end."""

from kafkascope_spark.stories.clients.identity.library import library_named
from kafkascope_spark.stories.findings.conditions import any_of, at_least, longer_than
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.thresholds import LONG_TRANSACTION_MS
from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import TRANSACTIONS

_HOLDING = Where(TRANSACTIONS, held_back=longer_than(0))
_LONG_NS = f"{LONG_TRANSACTION_MS}000000L"
_HOLDER = "transactional_id, holder, hangs, transaction_timeout_ms"
# One finding per consumer and client whose transaction it waited for. Transactions that end in time delay every
# consumer for as long as they take: that is no finding.
_QUERY = f"""
with waits as (
    select transactional_id, client_instance_id as holder, transaction_timeout_ms, get(evidence, 0) as begun_by,
        begin_ns, coalesce(outcome = 'hanging' or end_kind = 'coordinator', false) as hangs, inline(held_back)
    from holding
), each as (
    select client_instance_id, {_HOLDER}, min(from_ns) as first_ns, max(until_ns) as last_ns, min(begin_ns) as since_ns,
        max(until_ns - from_ns) as longest_ns, {sorted_set("partition")} as waiting,
        concat({sorted_set("begun_by")}, {sorted_set("request_id")}) as evidence
    from waits group by client_instance_id, {_HOLDER}
), rated as (
    select *, case when hangs or (transactional_id is null and longest_ns >= {_LONG_NS}) then 'warning'
        when longest_ns >= {_LONG_NS} or transactional_id is null then 'info' end as severity
    from each
)
select r.*, null as conn_ids, size(waiting) as n, reader.client_instance_id is not null as has_reader,
    reader.client_id, reader.client_ip, producer.client_instance_id is not null as has_producer,
    producer.client_id as producer_id, producer.client_ip as producer_ip, producer.software_name as producer_software
from rated r left join clients reader on r.client_instance_id = reader.client_instance_id
left join clients producer on r.holder = producer.client_instance_id
where severity is not null"""


def _sentence(f: Facts) -> str:
    reader = client(f.client_id, f.client_ip) if f.has_reader else "A consumer"
    return (
        f"{reader} reads committed data and got nothing of {listed(f.waiting)} for {duration(f.longest_ns)} from "
        f"{f.begin(f.first_ns)}: it waited behind an open transaction of {_producer(f)}"
    )


def _producer(f: Facts) -> str:
    if f.transactional_id is None:
        return "a producer that the capture does not show"
    producer = client(f.producer_id, f.producer_ip) if f.has_producer else "a producer"
    return f"{producer}, transactional id {f.transactional_id}"


def _advice(f: Facts) -> str:
    if f.transaction_timeout_ms is None:
        return RULE.advice
    lower = setting("transaction_timeout", (library_named(f.producer_software),)) or "its transaction timeout"
    return (
        f"Let the producer end its transactions sooner, and lower {lower} (now {f.transaction_timeout_ms}) so that the "
        "coordinator aborts what it leaves: what was written in it is then discarded. kafka-transactions.sh "
        "find-hanging shows transactions that stay open all the same."
    )


DETECTOR = Detector(
    reads={
        "holding": _HOLDING,
        "held_for_long": _HOLDING.and_where(
            any_of(
                outcome=("hanging", "cut"),
                end_kind="coordinator",
                transactional_id=None,
                duration_ms=at_least(LONG_TRANSACTION_MS),
            )
        ),
    },
    query=_QUERY,
    subject=lambda f: f.waiting[0] if f.waiting else None,
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="stuck_consumer",
    title="A read_committed consumer waits behind a transaction that does not end",
    severity="warning",
    meaning="With isolation.level=read_committed (librdkafka's default; Java's is read_uncommitted) a consumer reads "
    "up to the last stable offset: the first record of the oldest open transaction. While that does not end, records "
    "pile up behind it, of other producers too. The lag grows although the consumer works.",
    looks_at="Fetch answers to consumers that ask for committed data, in which the last stable offset stays while the "
    "high watermark moves; the transaction whose first batch got that offset. Said of transactions that hang, and, as "
    "information, of those that hold a consumer back for a minute or more; of transactions that the capture does not "
    "show from 10 s on, and as a warning from a minute on.",
    advice="Find the producer whose transaction is open: kafka-transactions.sh describe-producers with --topic and "
    "--partition names its producer id, and list its transactional id. Let that producer end the transaction. One that "
    "find-hanging shows is ended by nobody: kafka-transactions.sh abort ends it, and discards what it wrote.",
    sources=("KIP-98", "KIP-664", "org.apache.kafka.storage.internals.log.UnifiedLog"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | {"member", "client", "client_died", "held_transaction"}),
)
