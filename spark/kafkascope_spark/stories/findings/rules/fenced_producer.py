"""`fenced_producer`: another instance took over the transactional id of a running producer."""

from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.wording import client, counted
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import TRANSACTIONS

# One finding per transactional id, client that lost it, and client that took it over.
_QUERY = f"""
with takeovers as (
    select transactional_id, client_instance_id, fenced_by, count(*) as n,
        min(coalesce(fenced_ns, end_ns, begin_ns)) as first_ns,
        max(coalesce(end_ns, fenced_ns, begin_ns)) as last_ns, sum(n_records) as n_records,
        {joined_lists("evidence", "coalesce(fenced_ns, end_ns, begin_ns), transaction_no")} as evidence
    from fenced group by transactional_id, client_instance_id, fenced_by
), turns as (
    select transactional_id, arrays_overlap(collect_set(client_instance_id), collect_set(fenced_by)) as by_turns
    from fenced group by transactional_id
)
select t.*, null as conn_ids, by_turns, if(by_turns, 'error', 'warning') as severity,
    loser.client_instance_id is not null as has_loser, loser.client_id as loser_id, loser.client_ip as loser_ip,
    taker.client_instance_id is not null as has_taker, taker.client_id as taker_id, taker.client_ip as taker_ip
from takeovers t join turns on t.transactional_id = turns.transactional_id
left join clients loser on t.client_instance_id = loser.client_instance_id
left join clients taker on t.fenced_by = taker.client_instance_id"""


def _sentence(f: Facts) -> str:
    loser = client(f.loser_id, f.loser_ip) if f.has_loser else "A producer"
    taker = client(f.taker_id, f.taker_ip) if f.has_taker else "a producer that the capture does not show"
    lost = f"; {counted(f.n_records, 'record')} of its open transaction lost" if (f.n_records or 0) > 0 else ""
    turns = "; both take it from each other by turns" if f.by_turns else ""
    return (
        f"{loser} was fenced: {taker} took its transactional id {f.transactional_id} over at {f.begin(f.first_ns)}"
        f"{lost}{turns}"
    )


def _advice(f: Facts) -> str:
    return (
        f"Give each running producer a transactional id of its own ({setting('transactional_id', f.libraries)}; both "
        f"use {f.transactional_id}), or end the old instance before the new one begins. A fenced producer has to be "
        "closed: it cannot go on."
    )


DETECTOR = Detector(
    reads={"fenced": Where(TRANSACTIONS, outcome="fenced")},
    query=_QUERY,
    subject=fact("transactional_id"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="fenced_producer",
    title="Another instance took over the transactional id of a running producer",
    severity="error",
    meaning="Two producers use one transactional id at a time. InitProducerId of the second aborts the open "
    "transaction of the first and bumps the producer's epoch: whatever the first sends after that is refused, and it "
    "has to be closed. If it happens once, an instance was thought dead (a zombie) or a restart overlapped; if the two "
    "do it by turns, they stop each other for good: then it is an error.",
    looks_at=(
        "InitProducerId of another client instance while a transaction is open whose client is still there; "
        "requests with the old epoch (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED) after that. The successor of a "
        "client that ended is left out."
    ),
    advice="Give each running producer a transactional id of its own, or end the old instance before the new one "
    "begins.",
    sources=("KIP-98", "KIP-588", "org.apache.kafka.clients.producer.internals.TransactionManager"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"producer_refused"})),
)
