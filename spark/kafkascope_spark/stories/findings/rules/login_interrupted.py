"""`login_interrupted`: a client sends other requests in the middle of its authentication, and the broker disconnects
it."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers.api_keys import SASL_APIS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, count, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, node

# One finding per client and server. Between SaslHandshake and the last SaslAuthenticate a broker accepts no other
# request. A connection on which the client was already authenticated authenticates again.
_QUERY = f"""
with calls as (
    select r.request_id, r.conn_id, r.ts_ns, r.api_name, r.api_key, r.status, c.server, c.node_id, c.close_ns,
        c.session_lifetime_ms, c.client_instance_id, c.client_id, c.client_ip, c.software_name, c.software_version,
        lag(r.api_key) over (partition by r.conn_id order by r.ts_ns, r.request_id) as key_before,
        count_if(r.api_key not in {literals(SASL_APIS)} and r.status = 'ok')
            over (partition by r.conn_id order by r.ts_ns, r.request_id) as n_served
    from requests r join owned_connections c on r.conn_id = c.conn_id
    where c.close_kind = 'fin_server' and c.sasl_mechanism is not null and {NO_BROKER}
        and exists (select 1 from unanswered)
)
select client_instance_id, client_id, client_ip, software_name, software_version, server, max(node_id) as node_id,
    count(distinct conn_id) as n, {sorted_set("api_name")} as apis, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
    count_if(n_served > 1) as n_again, max(session_lifetime_ms) as lifetime_ms, {first_ids()} as evidence,
    collect_set(conn_id) as conn_ids
from calls
where status = 'unanswered' and api_key not in {literals(SASL_APIS)} and key_before in {literals(SASL_APIS)}
    and close_ns between ts_ns and ts_ns + {limit.AT_ONCE_MS} * 1000000L
group by client_instance_id, client_id, client_ip, software_name, software_version, server
having count(distinct conn_id) >= {limit.CUT_CONNECTIONS}"""


def _sentence(f: Facts) -> str:
    again = "" if not f.n_again else " while it authenticated again"
    session = ""
    if f.n_again and f.lifetime_ms:
        session = f"; a session lasts {duration(f.lifetime_ms * 1_000_000)} there"
    return (
        f"{client(f.client_id, f.client_ip)} sent {listed(f.apis)} to {node(f.node_id, f.server)} between its "
        f"SaslHandshake and the end of its authentication{again}, first at {f.begin(f.first_ns)}: the broker takes "
        f"nothing else then, and closed {counted(f.n, 'connection')}{session}"
    )


_ADVICE = (
    "Update the client's library, or report it there with these packets: what is on its way has to be answered "
    "before SaslHandshake, and nothing else may be sent until the authentication is over (KIP-368). Credentials and "
    "brokers are not the cause. Until then a longer connections.max.reauth.ms of the brokers (0: never) makes it "
    "rarer; a token that expires sooner shortens the session all the same."
)
RULE = Rule(
    name="login_interrupted",
    title="A client sends requests in the middle of its authentication",
    severity="warning",
    meaning="A broker that has begun to authenticate a connection, or does so again, takes SASL requests alone until "
    "that is over, and closes the connection for anything else. The client connects again and goes on, until the next "
    "time: consumers pause and read some records again, producers without retries lose some.",
    looks_at="A request that got no answer, right after SaslHandshake or SaslAuthenticate on its connection, which the "
    f"server closed within {limit.AT_ONCE_MS // 1000} s: on {limit.CUT_CONNECTIONS} connections or more of a client. A "
    "session that was over is another matter (reauth_late), and a client that never began to authenticate, too "
    "(auth_failed).",
    advice=_ADVICE,
    sources=("KIP-368", "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator"),
    detectors=(
        Detector(
            reads={
                "unanswered": Where(REQUESTS, status="unanswered", api_key=none_of(*SASL_APIS)),
                "authenticated": Groups(
                    Where(CONNECTIONS, close_kind="fin_server", sasl_mechanism=NOT_NULL),
                    per=("client_ip",),
                    having=count() >= limit.CUT_CONNECTIONS,
                ),
            },
            query=_QUERY,
            subject=lambda f: f.server,
            sentence=_sentence,
        ),
    ),
    unless=("auth_failed",),
)
