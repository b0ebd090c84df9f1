"""`hanging_transaction`: a transaction stays open after its client ended, or for longer than its timeout."""

from collections.abc import Collection

from kafkascope_spark.stories.findings.conditions import any_of
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import TRANSACTIONS

# One finding per transaction that hung, or that its producer left to the coordinator to abort; transactions of one
# running producer that was repeatedly slower than its timeout are one finding.
_QUERY = f"""
with told as (
    select *, coalesce(left_ns, begin_ns, :capture_first_ns) as first_ns, coalesce(end_ns, :capture_last_ns) as last_ns,
        end_kind <=> 'coordinator' as was_aborted,
        size(array_distinct(transform(coalesce(held_back, array()), each -> each.client_instance_id))) as n_behind,
        if(left_ns is null and end_kind <=> 'coordinator', null, struct(begin_ns, left_ns, end_ns)) as alone
    from hanging where n_batches > 0 or size(held_back) > 0 or coalesce(size(error_names), 0) = 0
), grouped as (
    select client_instance_id, transactional_id, was_aborted, alone, count(*) as n, min(begin_ns) as begin_ns,
        min(left_ns) as left_ns, max(end_ns) as end_ns, max(transaction_timeout_ms) as transaction_timeout_ms,
        max(n_behind) as n_readers, min(first_ns) as first_ns, max(last_ns) as last_ns,
        {joined_lists("coalesce(evidence, array())", "first_ns, last_ns")} as evidence
    from told group by client_instance_id, transactional_id, was_aborted, alone
)
select t.* except (alone), null as conn_ids, t.begin_ns as since_ns,
    if(was_aborted, 'warning', 'error') as severity,
    c.client_instance_id is not null as has_client, c.client_id, c.client_ip
from grouped t left join (select client_instance_id, client_id, client_ip from clients) c
    on t.client_instance_id = c.client_instance_id"""


def _sentence(f: Facts) -> str:
    name = client(f.client_id, f.client_ip) if f.has_client else "A producer"
    waiting = f"; {counted(f.n_readers, 'read_committed consumer')} waited behind {_which(f)}" if f.n_readers else ""
    if f.n > 1:
        return (
            f"{name} kept {f.n} transactions of {f.transactional_id} open for longer than their timeout from "
            f"{f.begin(f.first_ns)} on: the coordinator aborted each, the last at {f.at(f.end_ns)}{waiting}"
        )
    begun_at = f.begin if f.left_ns is None else f.at
    begun = "" if f.begin_ns is None else f", begun at {begun_at(f.begin_ns)}"
    end = f"the coordinator aborted it at {f.at(f.end_ns)}" if f.was_aborted else "the capture shows no end of it"
    return f"{name}{_left_open(f)} {f.transactional_id}{begun}: {end}{waiting}"


def _which(f: Facts) -> str:
    return "one of them" if f.n > 1 else "it"


def _left_open(f: Facts) -> str:
    if f.left_ns is None:
        return " kept a transaction open for longer than its timeout, that of"
    return f" ended at {f.begin(f.left_ns)} and left a transaction open, that of"


def _advice(f: Facts) -> str:
    now = "" if f.transaction_timeout_ms is None else f" (now {f.transaction_timeout_ms})"
    if f.left_ns is None and f.was_aborted:
        return _too_slow(f.libraries, now)
    lower = setting("transaction_timeout", f.libraries)
    sooner = (
        f"Lower {lower} of the producer{now} so that the coordinator aborts sooner what a dead producer leaves, or "
    )
    return (
        f"{sooner if lower else ''}commit more often; start the producer again with the same transactional id, which "
        "aborts it at once. What stays open after its timeout: kafka-transactions.sh find-hanging, then abort."
    )


def _too_slow(libraries: Collection[str], now: str = "") -> str:
    longer = setting("transaction_timeout", libraries) or "the transaction's timeout"
    return (
        "The producer was running, and slower than its timeout: let it commit more often (less work in a "
        f"transaction), or raise {longer}{now}, at most to transaction.max.timeout.ms of the brokers. What it wrote "
        "in such a transaction is aborted, and it is refused until it calls InitProducerId again: write it again."
    )


DETECTOR = Detector(
    reads={"hanging": Where(TRANSACTIONS, any_of(outcome="hanging", end_kind="coordinator"))},
    query=_QUERY,
    subject=fact("transactional_id"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="hanging_transaction",
    title="A transaction stays open after its client ended, or for longer than its timeout",
    severity="error",
    meaning="Consumers of committed data cannot read past the first record of an open transaction. The coordinator "
    "aborts it when the producer's transaction timeout is over (it looks every "
    "transaction.abort.timed.out.transaction.cleanup.interval.ms, 10 s); until then the partitions' last stable offset "
    "does not move. A warning where the coordinator did so in the capture, else an error.",
    looks_at="A transaction that was begun and not ended: all connections of its client ended; or it is older than the "
    "transaction_timeout_ms of its InitProducerId (15 min, the most that brokers allow by default, where that is not "
    "in the capture); or the coordinator wrote abort markers that no EndTxn asked for. Markers that it writes to "
    "partitions which it leads itself go over its loopback: no capture of the network has them. A transaction without "
    "records whose requests were refused is left out: nothing waits for it.",
    advice=(
        f"If the producer ended: lower {setting('transaction_timeout')} so that the coordinator aborts sooner what "
        "it leaves; start it again with the same transactional id; kafka-transactions.sh find-hanging, then abort. "
        f"{_too_slow(())}"
    ),
    sources=("KIP-98", "KIP-664", "KIP-890", "org.apache.kafka.coordinator.transaction.TransactionStateManager"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | {"client", "client_died", "held_transaction"}),
)
