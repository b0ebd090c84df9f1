"""`reauth_late`: a client did not authenticate again in time, and the broker closed its connection."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration

# One finding per client.
_QUERY = f"""
with authentications as (
    select conn_id, max_by(request_id, struct(ts_ns, request_id)) as request_id,
        max_by(response_ns is null, struct(ts_ns, request_id)) as is_lost,
        max(response_ns) filter (where api_name = 'SaslAuthenticate' and error_code = 0) as authenticated_ns
    from requests left semi join closed_sessions using (conn_id) group by conn_id
)
select client_instance_id, client_id, from_ip, software_name, software_version, count(*) as n,
    count_if(is_lost) as n_lost, max(session_lifetime_ms) as lifetime_ms, collect_set(conn_id) as conn_ids,
    min(close_ns) as first_ns, max(close_ns) as last_ns, {first_ids("request_id", "close_ns")} as evidence
from (select conn_id, client_ip as from_ip, session_lifetime_ms, close_ns from closed_sessions)
left join connection_clients using (conn_id) join authentications using (conn_id)
where close_ns - authenticated_ns >= session_lifetime_ms * 1000000
group by client_instance_id, client_id, from_ip, software_name, software_version"""


def _sentence(f: Facts) -> str:
    software = "" if f.software_name is None else f", {' '.join(filter(None, (f.software_name, f.software_version)))},"
    lost = f", {f.n_lost} with a request on the way" if f.n_lost > 0 else ""
    return (
        f"{client(f.client_id, f.from_ip)}{software} did not authenticate again within "
        f"{duration(f.lifetime_ms * 1_000_000)}: brokers closed {counted(f.n, 'connection')}{lost}, "
        f"first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    return (
        "Upgrade the client to one that re-authenticates (KIP-368), or raise connections.max.reauth.ms of the brokers "
        f"(the session lasts {f.lifetime_ms} ms now; a token that expires sooner shortens it), or set it to 0."
    )


DETECTOR = Detector(
    reads={
        "closed_sessions": Where(
            CONNECTIONS,
            session_lifetime_ms=above(0),
            close_kind=CLOSED_BY_SERVER,
            close_ns=NOT_NULL,
        )
    },
    query=_QUERY,
    subject=lambda f: f"session of {f.lifetime_ms} ms",
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="reauth_late",
    title="A client did not authenticate again before its session ended",
    severity="warning",
    meaning="Brokers with connections.max.reauth.ms close a connection on the first request after its SASL session "
    "ended. The request is lost, and the client reconnects as after a failure, again and again.",
    looks_at="Connections whose SaslAuthenticate response set a session lifetime, and that the broker closed after "
    "that time since the last successful authentication. A client that is late without consequences is left out.",
    advice="Upgrade the client to one that re-authenticates (KIP-368), or raise connections.max.reauth.ms.",
    sources=("KIP-368", "SaslServerAuthenticator.ReauthInfo"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"session_ended"})),
)
