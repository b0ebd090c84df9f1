"""`acks_zero`: a producer does not wait for acknowledgements of its records."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import USAGE
from kafkascope_spark.stories.findings.sql import FIRST_OF_KIND, SEVERAL_CLIENTS, literals
from kafkascope_spark.stories.findings.wording import clients_with_id, counted
from kafkascope_spark.stories.settings import setting

_AT_ONCE_NS = 1_000_000_000
"""A broker closes the connection within this time if it could not write a batch with acks=0."""
# One finding per client id, as all its processes have the same settings.
_QUERY = f"""
select client_id, {SEVERAL_CLIENTS}, sum(n_requests) as n, coalesce(sum(n_records), 0) as n_records,
    count_if(is_cut) as n_cut, if(count_if(is_cut) >= {limit.CUT_CONNECTIONS}, 'error', null) as severity
from (
    select conn_id, sum(n) as n_requests, sum(total_records) as n_records, min(ts_ns) as first_ns,
        max(last_ns) as last_ns, min({FIRST_OF_KIND}) as sample
    from unacknowledged group by conn_id
) left join connection_clients using (conn_id) left join (
    select conn_id, close_ns, close_kind in {literals(CLOSED_BY_SERVER)} as by_server from connections
) using (conn_id)
lateral view inline(array(struct(
    coalesce(by_server and close_ns between last_ns and last_ns + {_AT_ONCE_NS}, false) as is_cut
))) cut
group by client_id"""


def _sentence(f: Facts) -> str:
    return (
        f"{clients_with_id(f.client_id, f.n_clients, f.client_ip)} sent {counted(f.n_records, 'record')} with acks=0 "
        f"from {f.begin(f.first_ns)}: no broker says whether they were written{_cut(f)}"
    )


def _cut(f: Facts) -> str:
    """Returns how often brokers closed the connection because of it, which is their only way to report an error."""
    if f.n_cut < limit.CUT_CONNECTIONS:
        return ""
    return (
        f"; brokers closed {counted(f.n_cut, 'connection')} right after such a request, as they do where they could "
        "not write it: these records are lost"
    )


def _advice(libraries: Collection[str]) -> str:
    return f"Set {setting('acks', libraries)} (it is 0), unless the records may be lost."


DETECTOR = Detector(
    reads={"unacknowledged": Where(USAGE, is_unacknowledged=True)},
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="acks_zero",
    title="A producer does not wait for acknowledgements",
    severity="info",
    meaning="With acks=0 the broker sends no response. Records are lost without an error when a leader moves, a broker "
    "dies or a batch is refused.",
    looks_at="Produce requests with acks 0; an error where brokers closed several connections right after one, as they "
    "do with a batch that they cannot write (they lead no longer, or it is refused).",
    advice=_advice(()),
    sources=("KIP-679", "acks of the producer settings"),
    detectors=(DETECTOR,),
)
