"""`unreadable_batches`: a consumer fetches the same compressed batches again and again, because it cannot read them."""

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, all_of, count, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, joined_lists
from kafkascope_spark.stories.findings.wording import client, duration, listed, times

_ANSWERS = all_of(api_key=api_keys.FETCH, direction="response", n_batches=above(0))
_PLACE = "conn_id, topic, partition"
_REPEATED = Groups(
    Where(PARTITIONS, _ANSWERS, codec=none_of("none"), first_offset=NOT_NULL),
    per=("conn_id", "topic", "partition", "first_offset"),
    having=count() >= limit.SAME_BATCH,
    last_of=("conn_id", "topic", "partition"),
)
# One finding per client and codec: for each partition the last offset that it got, if it got only that from then on.
_QUERY = f"""
with by_offset as (
    select {_PLACE}, first_offset, min(codec) as codec, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        {first_ids()} as evidence
    from partitions left semi join repeated using ({_PLACE})
    where {_ANSWERS}
    group by {_PLACE}, first_offset
), stuck as (
    select a.* from by_offset a left anti join by_offset b
        on a.conn_id = b.conn_id and a.topic = b.topic and a.partition = b.partition
        and a.first_offset <> b.first_offset and b.last_ns >= a.first_ns
    where a.n >= {limit.SAME_BATCH} and a.codec <> 'none'
)
select {CLIENT}, codec, array_sort(collect_set(concat(topic, '-', partition))) as places, sum(n) as n,
    max(n) as most, min_by(concat(topic, '-', partition), struct(-n, topic, partition)) as worst,
    min_by(first_offset, struct(-n, topic, partition)) as worst_offset, min(first_ns) as first_ns,
    max(last_ns) as last_ns, {joined_lists("evidence", "first_ns, conn_id, topic, partition")} as evidence,
    array_sort(collect_set(conn_id)) as conn_ids
from stuck join connection_clients using (conn_id)
where {NO_BROKER}
group by {CLIENT}, codec"""


def _library(f: Facts) -> str:
    return " ".join(part for part in (f.software_name, f.software_version) if part) or "whose library is not known"


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)}, {_library(f)}, got the batch at offset {f.worst_offset} of {f.worst} "
        f"{times(f.most)} in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} and nothing after it: it is "
        f"compressed with {f.codec}; so on {listed(f.places)}"
    )


def _advice(f: Facts) -> str:
    topics = listed(sorted({place.rpartition("-")[0] for place in f.places}))
    return (
        f"Give {client(f.client_id, f.client_ip)} a library that reads {f.codec}: an upgrade, a build with {f.codec}, "
        "or the package that it loads for it. Until then set compression.type of the producers (or of the topics: "
        f"{topics}) to a codec that all their consumers read."
    )


RULE = Rule(
    name="unreadable_batches",
    title="A consumer cannot read the batches that it gets",
    severity="error",
    meaning="Brokers hand out batches as producers compressed them. A library without the codec fails on them, and "
    "many fetch the same batch again and again: the consumer stalls and looks busy, as all its requests succeed.",
    looks_at=f"Fetch answers on one connection that begin with the same compressed batch {limit.SAME_BATCH} times or "
    "more, with nothing later of the partition after that. A consumer that rewinds on purpose goes on after it. The "
    "codec is what the header says; that a client cannot read it is concluded, as no request says so.",
    advice="Upgrade the library of the consumer, or build it with the codec; or set compression.type of the producers "
    "to one that all consumers read.",
    sources=("KIP-110", "compression.type of the producer and topic settings"),
    detectors=(
        Detector(
            reads={"repeated": _REPEATED},
            query=_QUERY,
            subject=lambda f: f.worst,
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
