"""`no_compression`: a producer sends its records uncompressed."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import RECORD_BATCHES
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEVERAL_CLIENTS
from kafkascope_spark.stories.findings.wording import clients_with_id, counted, size
from kafkascope_spark.stories.settings import setting

# One finding per client id, as all its processes have the same settings.
_QUERY = f"""
select client_id, {SEVERAL_CLIENTS}, sum(n_batches) as n, sum(sent_bytes) as sent_bytes,
    min_by(topic, struct(first_ns, conn_id)) as topic
from (
    select conn_id, count(*) as n_batches, sum(bytes) as sent_bytes, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        min(struct(ts_ns, request_id)) as sample, min_by(topic, struct(ts_ns, request_id, topic)) as topic
    from uncompressed group by conn_id
) left join connection_clients using (conn_id)
where {NO_BROKER}
group by client_id
having sum(sent_bytes) >= {limit.UNCOMPRESSED_BYTES}
    and sum(sent_bytes) >= sum(n_batches) * {limit.COMPRESSIBLE_BYTES}e0"""


def _sentence(f: Facts) -> str:
    return (
        f"{clients_with_id(f.client_id, f.n_clients, f.client_ip)} sent {counted(f.n, 'batch', 'batches')} without "
        f"compression, {size(f.sent_bytes)} in all and {size(f.sent_bytes // f.n)} each, to {f.topic or '?'} and "
        f"others from {f.begin(f.first_ns)}"
    )


def _advice(libraries: Collection[str]) -> str:
    return f"Set {setting('compression', libraries)} of the producer to zstd or lz4 (it is none)."


DETECTOR = Detector(
    reads={
        "uncompressed": Groups(
            Where(RECORD_BATCHES, api_key=api_keys.PRODUCE, direction="request", codec="none"),
            having=total("bytes") >= limit.UNCOMPRESSED_BYTES,
        )
    },
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="no_compression",
    title="A producer does not compress",
    severity="info",
    meaning="Compressed batches take less network, less disk on every replica and less of each consumer's fetch; the "
    "broker stores them as they come.",
    looks_at="Batches of Produce without a codec, of one client id: at least "
    f"{limit.UNCOMPRESSED_BYTES // 1024} KiB of them, {limit.COMPRESSIBLE_BYTES} bytes or more each on average. What "
    "is in the records is not looked at: encrypted or compressed content gains nothing. It needs the table "
    "record_batches (--record-batches), and says nothing without.",
    advice=_advice(()),
    sources=("KIP-110", "KIP-390", "compression.type of the producer settings"),
    detectors=(DETECTOR,),
)
