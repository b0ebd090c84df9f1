"""`auth_failed`: a broker refused a client's identity, or a client did not authenticate."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.findings.shared_queries import NO_BROKER
from kafkascope_spark.findings.sql import first_ids, literals, sorted_set
from kafkascope_spark.findings.thresholds import UNAUTHENTICATED
from kafkascope_spark.findings.wording import client, counted, listed, times
from kafkascope_spark.settings import setting, settings

REFUSED = ("SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE")
# The broker answered that it does not accept the client. One finding per client and error.
_REFUSED_QUERY = f"""
select client_instance_id, client_id, from_ip, error_name, count(*) as n,
    {sorted_set("sasl_mechanism")} as mechanisms, {sorted_set("principal")} as principals,
    count_if(session_lifetime_ms is not null) as n_proven, {sorted_set("server")} as servers,
    min_by(message, struct(ts_ns, request_id)) as message, collect_set(conn_id) as conn_ids, min(ts_ns) as first_ns,
    max(ts_ns) as last_ns, {first_ids()} as evidence
from (select conn_id, request_id, ts_ns, error_name, message from refusals) join owned_connections using (conn_id)
group by client_instance_id, client_id, from_ip, error_name"""
# A SASL listener closes the connection of a client that begins without SASL. One finding per client and server.
_UNAUTHENTICATED_QUERY = f"""
with first_requests as (
    select conn_id, count_if(response_ns is not null and api_name <> 'ApiVersions') as n_answered,
        min_by(request_id, struct(ts_ns, request_id)) filter (where response_ns is null and api_name not in
            ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate')) as request_id,
        min_by(api_name, struct(ts_ns, request_id)) filter (where response_ns is null) as api_name,
        min(ts_ns) as ts_ns
    from requests left semi join closed_without_sasl using (conn_id) group by conn_id
)
select client_instance_id, client_id, from_ip, concat(server_ip, ':', server_port) as server, count(*) as n,
    {sorted_set("api_name")} as apis, collect_set(conn_id) as conn_ids, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
    {first_ids()} as evidence
from (
    select conn_id, client_ip as from_ip, server_ip, server_port from closed_without_sasl
    left semi join sasl_servers using (server_ip, server_port)
) left join connection_clients using (conn_id) join first_requests using (conn_id)
where {NO_BROKER} and n_answered = 0 and request_id is not null
group by client_instance_id, client_id, from_ip, server_ip, server_port
having count(*) >= {UNAUTHENTICATED}"""


def _refused(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.from_ip)} was refused by {listed(f.servers)} with {f.error_name}"
        f"{_named('mechanism', f.mechanisms)}{_named('principal', f.principals)}, {times(f.n)}, "
        f"first at {f.begin(f.first_ns)}{f': {f.message}' if f.message else ''}"
    )


def _named(what: str, names: list[str]) -> str:
    return f", {what} {', '.join(names)}" if names else ""


def _refused_advice(f: Facts) -> str:
    mechanisms = ", ".join(f.mechanisms)
    if f.error_name == "UNSUPPORTED_SASL_MECHANISM":
        return (
            f"Set {setting('mechanism', f.libraries)} of the client (now {mechanisms}) to one that the listener has in "
            "sasl.enabled.mechanisms, or add it there."
        )
    if f.error_name == "ILLEGAL_SASL_STATE" and f.n_proven == 0:
        return (
            f"The listener does no SASL: let the client do none ({setting('security', f.libraries)}), or give it the "
            "port of a SASL listener."
        )
    if f.error_name == "ILLEGAL_SASL_STATE":
        return (
            "The client authenticates again in a way that the broker does not take (KIP-368): upgrade it, or set "
            "connections.max.reauth.ms of the broker to 0."
        )
    return (
        f"Correct user name and password of the client ({setting('credentials', f.libraries)}), or create the "
        "credentials on the cluster (SCRAM: kafka-configs.sh --alter --add-config); mechanism "
        f"{mechanisms}{_named('principal', f.principals)}."
    )


def _unauthenticated(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.from_ip)} did not authenticate at {f.server}, which asks for SASL: it closed "
        f"{counted(f.n, 'connection')} on {listed(f.apis)}, first at {f.begin(f.first_ns)}"
    )


def _unauthenticated_advice(f: Facts) -> str:
    names = settings(("security", "mechanism", "credentials"), f.libraries)
    return f"Let the client authenticate ({names}); or give it the port of a listener without SASL."


REFUSED_DETECTOR = Detector(
    reads={"refusals": Read(ERRORS, f"error_name in {literals(REFUSED)}")},
    query=_REFUSED_QUERY,
    subject=lambda f: f"{f.error_name} {', '.join(f.mechanisms)}",
    sentence=_refused,
    advice=_refused_advice,
)
UNAUTHENTICATED_DETECTOR = Detector(
    reads={
        "closed_without_sasl": Read(
            CONNECTIONS,
            "protocol = 'kafka' and sasl_mechanism is null and close_kind in ('fin_server', 'rst_server') "
            "and client_segments > 0 and server_segments > 0",
        ),
        "sasl_servers": Read(CONNECTIONS, "sasl_mechanism is not null", per="server_ip, server_port"),
    },
    candidates="select 1 from closed_without_sasl join sasl_servers using (server_ip, server_port)",
    query=_UNAUTHENTICATED_QUERY,
    subject=fact("server"),
    sentence=_unauthenticated,
    advice=_unauthenticated_advice,
)
RULE = Rule(
    name="auth_failed",
    title="A client was not let in",
    severity="error",
    meaning="Authentication failed: nothing of what the client is there for can happen. Clients try again and "
    "again, and brokers delay each answer (connection.failed.authentication.delay.ms).",
    looks_at="SaslHandshake and SaslAuthenticate answered with SASL_AUTHENTICATION_FAILED, "
    "UNSUPPORTED_SASL_MECHANISM or ILLEGAL_SASL_STATE; and connections without SASL to an address where others "
    "use SASL, closed by the broker on their first request after ApiVersions. It says nothing of TLS that is not "
    "decrypted. Credentials are never shown; a user name only where PLAIN or SCRAM carries one.",
    advice=f"Correct {settings(('security', 'mechanism', 'credentials'))} of the client, or its credentials on the "
    "cluster.",
    sources=("KIP-43", "KIP-152", "KIP-368", "SaslServerAuthenticator"),
    detectors=(REFUSED_DETECTOR, UNAUTHENTICATED_DETECTOR),
)
