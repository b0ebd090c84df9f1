"""`tls_failed`: a client and a server did not agree on TLS, or did not trust each other."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.wording import date, listed, node, times
from kafkascope_spark.stories.tls_words import what_to_change, why


def _query(side: str) -> str:
    """Returns the query, with one finding for each client host, server, alert, reason and rejected certificate."""
    judged = "server" if side == "client" else "client"
    return f"""
with worked as (
    select distinct client_ip, server_ip, server_port from connections
    where tls_version is not null and tls_client_alert is null and tls_server_alert is null and server_bytes > 0
),
known as (
    select tls_ja4, sort_array(collect_set(software_name)) as software_names from connections
    where tls_ja4 is not null and software_name is not null group by tls_ja4
)
select null as client_instance_id, client_ip, server_ip, server_port, max(node_id) as node_id,
    tls_{side}_alert as alert, tls_failure as reason, '{side}' as side, count(*) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns,
    sort_array(collect_set(conn_id)) as conn_ids, null as evidence,
    sort_array(collect_set(whose.client_instance_id)) as client_instance_ids,
    if(max(w.client_ip) is null, 'error', 'warning') as severity,
    min(tls_sni) as sni, tls_{judged}_subject as subject, min(tls_{judged}_names) as names,
    min(tls_{judged}_not_before_ns) as not_before_ns,
    max(tls_{judged}_not_after_ns) as not_after_ns, min(tls_versions_offered) as versions,
    min(tls_suites_offered) as suites, min(software_names) as software_names
from failed left join worked w using (client_ip, server_ip, server_port) left join known using (tls_ja4)
left join (select conn_id, client_instance_id from connection_clients) whose using (conn_id)
group by client_ip, server_ip, server_port, tls_{side}_alert, tls_failure, tls_{judged}_subject"""


def _server(f: Facts) -> str:
    return node(f.node_id, f"{f.server_ip}:{f.server_port}")


def _values(f: Facts) -> dict[str, str]:
    """Returns the values for the texts: sender and receiver of the alert in words, and the facts of the handshake."""
    ends = [str(f.client_ip), _server(f)]
    sender, other = ends if f.side == "client" else ends[::-1]
    return {
        "sender": sender,
        "other": other,
        "subject": f.subject or "?",
        "of_subject": f" ({f.subject})" if f.subject else "",
        "names": listed(f.names or ["?"]),
        "sni": str(f.sni),
        "until": date(f.not_after_ns) if f.not_after_ns is not None else "?",
        "since": date(f.not_before_ns) if f.not_before_ns is not None else "?",
        "versions": listed(f.versions or ["?"]),
        "suites": listed(f.suites or ["?"]),
    }


def _sentence(f: Facts) -> str:
    values = _values(f)
    others = "; other connections of the two worked" if f.severity == "warning" else ""
    said = f"{values['sender']} {why(f.reason, values)} (TLS alert {f.alert})"
    return f"{said}, {times(f.n)}, first at {f.begin(f.first_ns)}{others}"


def _advice(f: Facts) -> str:
    return what_to_change(f.reason, f.libraries if f.software_names else (), _values(f))


def _detector(side: str) -> Detector:
    return Detector(
        reads={"failed": Where(CONNECTIONS, **{f"tls_{side}_alert": NOT_NULL, "tls_failure": NOT_NULL})},
        query=_query(side),
        subject=_server,
        sentence=_sentence,
        advice=_advice,
    )


RULE = Rule(
    name="tls_failed",
    title="TLS handshakes failed",
    severity="error",
    meaning="Client and server did not agree on TLS, or one did not trust the other, so the client cannot use such a "
    "connection. Clients try again and again.",
    looks_at="Alerts of TLS that say what is wrong (RFC 8446, section 6.2), and beside them what the handshake shows: "
    "the certificate that was not accepted (its time, its names), the versions and cipher suites that were offered, "
    "whether the client sent a certificate. Alerts of TLS 1.2 handshakes are sent in clear; those of TLS 1.3 that come "
    "after the hellos are encrypted, and without a key log only who gave up is known. A client that does not trust the "
    "server may also close the connection without an alert.",
    advice="Compare certificates, authorities, versions and cipher suites of both, as the alert says.",
    sources=("RFC 5246", "RFC 6125", "RFC 8446", "SslTransportLayer"),
    detectors=(_detector("client"), _detector("server")),
    follows=Follows(kinds=frozenset({"tls_failed"}), same=frozenset({"tls_failed"})),
)
