"""`tiny_batches`: a producer sends many small requests instead of few large ones."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import all_of, at_least, column, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.sql import FIRST_OF_KIND, SEVERAL_CLIENTS
from kafkascope_spark.stories.findings.wording import clients_with_id, ratio, size
from kafkascope_spark.stories.settings import setting

_SENT = Where(USAGE, api_key=api_keys.PRODUCE, has_records=True)
_IS_TINY = all_of(
    total("n") >= limit.TINY_REQUESTS,
    total("total_record_bytes") < total("total_partitions") * float(limit.TINY_BYTES),
)
# One finding per client id, as all its processes have the same settings.
_QUERY = f"""
select client_id, {SEVERAL_CLIENTS}, sum(n_requests) as n, sum(n_batches) as n_batches, sum(n_records) as n_records,
    sum(sent_bytes) as sent_bytes, min(life_ns div n_requests) as apart_ns
from (
    select conn_id, sum(n) as n_requests, sum(total_partitions) as n_batches, sum(total_records) as n_records,
        sum(total_record_bytes) as sent_bytes, min(ts_ns) as first_ns, max(last_ns) as last_ns,
        min({FIRST_OF_KIND}) as sample
    from sent group by conn_id having {_IS_TINY}
) join (
    select conn_id, last_ns - first_ns as life_ns from busy_connections
) using (conn_id) left join connection_clients using (conn_id)
where life_ns < n_requests * {limit.LINGER_MS}e6 and {NO_BROKER}
group by client_id"""


def _sentence(f: Facts) -> str:
    return (
        f"{clients_with_id(f.client_id, f.n_clients, f.client_ip)} sent {f.n} Produce requests, one each "
        f"{ratio(f.apart_ns, 1_000_000)} ms to one broker, with batches of {ratio(f.n_records, f.n_batches)} records "
        f"and {size(f.sent_bytes // f.n_batches)} on average, from {f.begin(f.first_ns)}"
    )


def _advice(libraries: Collection[str]) -> str:
    wait = setting("linger", libraries, defaults=True)
    size_of = setting("batch_size", libraries, defaults=True)
    linger = f"Set {wait} of the producer to 5 to {limit.LINGER_MS} ms" if wait else "Send several records in one call"
    larger = f"; {size_of} is how large a batch may become" if size_of else ""
    return f"{linger}, and do not call flush() or wait for the answer after each record{larger}."


def _some_are_both(tables: Tables) -> bool:
    tiny = set(rows_of(tables["tiny_senders"], "conn_id"))
    return any(row in tiny for row in rows_of(tables["busy_connections"], "conn_id"))


DETECTOR = Detector(
    reads={
        "busy_connections": Where(
            CONNECTIONS,
            column("last_ns") - column("first_ns") < column("n_requests") * (limit.LINGER_MS * 1e6),
            n_requests=at_least(limit.TINY_REQUESTS),
        ),
        "sent": _SENT,
        "tiny_senders": Groups(_SENT, per=("conn_id",), having=_IS_TINY),
    },
    candidates=Candidates({"busy_connections": ("conn_id",), "tiny_senders": ("conn_id",)}, _some_are_both),
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="tiny_batches",
    title="A producer sends tiny batches",
    severity="info",
    meaning="Each request costs client, network and broker about the same whatever is in it, and small batches hardly "
    "compress. A producer that waits a little sends the same records in far fewer requests.",
    looks_at=f"At least {limit.TINY_REQUESTS} Produce requests on a connection, less than {limit.LINGER_MS} ms apart "
    f"over its whole life, with batches below {limit.TINY_BYTES} bytes on average. Slow producers are left out: they "
    "could not fill a batch.",
    advice=_advice(()),
    sources=("KIP-1030", "KIP-480", "linger.ms and batch.size of the producer settings"),
    detectors=(DETECTOR,),
)
