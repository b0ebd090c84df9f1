"""`short_lived_clients`: a program makes a new client for every few requests."""

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import column, count, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.tables import CLIENTS

_SHORT_NS, _APART_NS = limit.SHORT_LIFE_MS * 1_000_000, limit.SHORT_LIVED_APART_MS * 1_000_000
_PROGRAM = "client_ip, client_id, kind, software_name"
# One finding per address, client id, kind and library.
_QUERY = f"""
with programs as (
    select {_PROGRAM}, count(*) as n, sum(size(conn_ids)) as n_connections, sum(n_requests) as n_requests,
        min(first_ns) as first_ns, max(first_ns) as last_ns, percentile(last_ns - first_ns, 0.5) as middle_ns,
        min_by(struct(client_instance_id, conn_ids), struct(first_ns, client_instance_id)) as first
    from short_lived
    group by {_PROGRAM}
    having count(*) >= {limit.SHORT_LIVED} and max(first_ns) - min(first_ns) <= count(*) * {_APART_NS}L
), samples as (
    select *, explode(first.conn_ids) as conn_id from programs
)
select first.client_instance_id, {_PROGRAM}, n, n_connections, n_requests, first_ns, last_ns,
    cast(middle_ns as bigint) as middle_ns, {first_ids("r.request_id")} as evidence, first.conn_ids as conn_ids
from samples left join (select request_id, conn_id, ts_ns from requests) r using (conn_id)
group by first, {_PROGRAM}, n, n_connections, n_requests, first_ns, last_ns, middle_ns"""


def _sentence(f: Facts) -> str:
    what = (
        f"{client(f.client_id, f.client_ip)} ({f.kind}) was started {f.n} times in {duration(f.last_ns - f.first_ns)}"
    )
    cost = f"{counted(f.n_connections, 'connection')} for {counted(f.n_requests, 'request')}"
    return f"{what} from {f.begin(f.first_ns)} on, each time for {duration(f.middle_ns)} in the middle: {cost}"


_SHORT_LIVED = Where(
    CLIENTS,
    column("last_ns") - column("first_ns") <= _SHORT_NS,
    kind=none_of("broker"),
    end_state=none_of("open"),
)
DETECTOR = Detector(
    reads={
        "short_lived": _SHORT_LIVED,
        "programs": Groups(_SHORT_LIVED, per=("client_ip", "client_id"), having=count() >= limit.SHORT_LIVED),
    },
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
)
RULE = Rule(
    name="short_lived_clients",
    title="A program makes a new client for every few requests",
    severity="warning",
    meaning="A client is made to be kept: it connects, authenticates, asks for versions and metadata, and a consumer "
    "finds its coordinator, before it does anything. A program that makes one for each call pays that each "
    "time, and so do the brokers: connections, TLS handshakes and logins cost them more than the work itself.",
    looks_at=f"At least {limit.SHORT_LIVED} clients of one address, client id, kind and library that ended within "
    f"{limit.SHORT_LIFE_MS // 1000} seconds of their begin, one every {limit.SHORT_LIVED_APART_MS // 1000} seconds or "
    "more often. Brokers are left out.",
    advice="Make one client when the program starts, and use it until the program ends: producers and admin clients "
    "may be shared by threads, consumers poll in a loop. A probe of the brokers' health needs no client of its own: "
    "see whether a TCP connection does, or ask less often.",
    sources=("Kafka's documentation of KafkaProducer: it is thread safe and generally to be shared",),
    detectors=(DETECTOR,),
)
