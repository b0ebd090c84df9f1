"""`bootstrap_only`: a client requests metadata again and again, and never connects to the brokers in it."""

from collections import Counter

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.clients.table import PRODUCING_KINDS, READING_KINDS
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, USAGE
from kafkascope_spark.stories.findings.sql import first_ids, literals, sorted_set
from kafkascope_spark.stories.findings.thresholds import ASKED_AGAIN, ASKED_AGAIN_MS
from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.tables import CLIENTS

ASKING = ("Metadata", "FindCoordinator", "DescribeCluster")
GREETING = (
    "ApiVersions",
    "SaslHandshake",
    "SaslAuthenticate",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "InitProducerId",
)
"""Requests that any broker serves; also InitProducerId without a transactional id."""
_ASKS, _GREETS = f"api_name in {literals(ASKING)}", f"api_name in {literals(GREETING)}"
_WORKERS = (*READING_KINDS, *PRODUCING_KINDS)
# One finding per client.
_QUERY = f"""
with stuck as (
    select {CLIENT}, {sorted_set("server")} as servers
    from owned_connections left semi join asking_clients on from_ip = asking_clients.client_ip
    where kind in {literals(_WORKERS)}
    group by {CLIENT}
    having sum(if(primary_role = 'bootstrap', n_requests, 0)) >= {ASKED_AGAIN}
        and size(array_except(flatten(collect_list(roles)), array('bootstrap', 'telemetry'))) = 0
), calls as (
    select stuck.*, r.conn_id, r.request_id, r.ts_ns, r.n_errors, r.api_name, {_ASKS} as asks
    from requests r join (select conn_id, client_instance_id from connection_clients) o on r.conn_id = o.conn_id
    join stuck on o.client_instance_id = stuck.client_instance_id
    where r.status = 'ok'
)
select {CLIENT}, servers, count_if(asks) as n, {sorted_set("if(asks, api_name, null)")} as apis,
    min(if(asks, ts_ns, null)) as first_ns, max(if(asks, ts_ns, null)) as last_ns,
    {first_ids("if(asks, request_id, null)")} as evidence, null as conn_ids
from calls
group by {CLIENT}, servers
having count_if(asks) >= {ASKED_AGAIN} and sum(if(asks, n_errors, 0)) = 0
    and count_if(not asks and not {_GREETS}) = 0
    and (max(if(asks, ts_ns, null)) - min(if(asks, ts_ns, null))) div 1000000 <= count_if(asks) * {ASKED_AGAIN_MS}L"""


def _some_only_ask(tables: Tables) -> bool:
    """Whether a client has enough responses, all of them to metadata and coordinator requests."""
    asked: Counter[str] = Counter()
    worked = set()
    answered = with_client(tables["answered"], tables["workers"])
    for client_id, api_name, n in rows_of(answered, "client_instance_id", "api_name", "n"):
        if api_name in ASKING:
            asked[client_id] += n
        elif api_name is not None and api_name not in GREETING:
            worked.add(client_id)
    return any(n >= ASKED_AGAIN and client_id not in worked for client_id, n in asked.items())


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} ({f.kind}) asked {listed(f.servers)} for brokers and coordinators {f.n} "
        f"times ({', '.join(f.apis)}) in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} on, got "
        "answers, and never connected to those servers"
    )


DETECTOR = Detector(
    # A client may open one bootstrap connection after the other, as librdkafka does.
    reads={
        "asking_clients": Groups(
            Where(CONNECTIONS, primary_role="bootstrap"),
            per=("client_ip",),
            having=total("n_requests") >= ASKED_AGAIN,
        ),
        "workers": Where(CLIENTS, kind=_WORKERS),
        "answered": Where(USAGE, status="ok"),
    },
    candidates=Candidates(
        {"workers": ("client_instance_id", "conn_ids"), "answered": ("conn_id", "api_name", "n")}, _some_only_ask
    ),
    query=_QUERY,
    subject=lambda f: ", ".join(f.servers[:10]),
    sentence=_sentence,
)
RULE = Rule(
    name="bootstrap_only",
    title="A client never leaves its bootstrap server",
    severity="warning",
    meaning="The client gets responses at its bootstrap address, but does no work: it "
    "cannot reach the brokers in the responses, or reaches them on a path that was not captured.",
    looks_at="Clients that are consumers or producers by what they asked, whose connections did nothing but ask "
    "for Metadata and coordinators, without an error, at least ten times with at most ten seconds between on the "
    "average. A producer that has nothing to send asks once in minutes.",
    advice="See where advertised.listeners send it, whether it can resolve and reach that, and whether the capture "
    "was made where that traffic passes (loopback, another interface, a service mesh).",
    sources=("KIP-899", "org.apache.kafka.clients.NetworkClient"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"listener"})),
    unless=("advertised_unreachable",),
)
