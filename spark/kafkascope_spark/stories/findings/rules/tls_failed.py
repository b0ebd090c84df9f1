"""`tls_failed`: a client and a server did not agree on TLS, or did not trust each other."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.wording import node, times

TRUST = "what signed it is not in the truststore"
WHY = {
    "unknown_ca": f"does not trust the certificate of {{other}}: {TRUST}",
    "bad_certificate": "does not accept the certificate of {other}: it is damaged, or its signature is wrong",
    "unsupported_certificate": "does not accept the kind of certificate of {other}",
    "certificate_revoked": "was told that the certificate of {other} is revoked",
    "certificate_expired": "does not accept the certificate of {other}: it has expired, or is not valid yet",
    "certificate_unknown": f"does not accept the certificate of {{other}}: {TRUST}, or its names are others",
    "certificate_required": "wants a certificate of {other}, which sent none",
    "handshake_failure": "found no settings that both accept, as cipher suites, or wants a certificate of {other}",
    "insufficient_security": "wants stronger cipher suites than {other} offers",
    "protocol_version": "does not speak the versions of TLS that {other} offers",
    "unrecognized_name": "does not know the server name that {other} asks for",
    "no_application_protocol": "does not speak the application protocol that {other} asks for",
    "access_denied": "does not let {other} in with the certificate that it has",
    "unexpected_message": "got something that is not TLS at this point, as from plain Kafka",
}
"""Alert (RFC 8446, section 6) -> what its sender says with it."""
_OWN_CERTIFICATE = "ssl.keystore.location (librdkafka: ssl.certificate.location, ssl.key.location)"
_TRUSTSTORE = "ssl.truststore.location (librdkafka: ssl.ca.location)"
ADVICE = {
    **dict.fromkeys(
        ("unknown_ca", "certificate_unknown", "bad_certificate"),
        f"Give {{sender}} the authority that signed the certificate of {{other}}: {_TRUSTSTORE}; and compare the names "
        "in the certificate with the address that is used (ssl.endpoint.identification.algorithm).",
    ),
    "certificate_expired": "Renew the certificate of {other}, and compare the clocks of both.",
    **dict.fromkeys(
        ("certificate_required", "access_denied"),
        f"Give {{other}} a certificate that {{sender}} accepts: {_OWN_CERTIFICATE}; or see whether the listener has to "
        "ask for one (ssl.client.auth).",
    ),
    **dict.fromkeys(
        ("handshake_failure", "insufficient_security", "protocol_version"),
        "Compare versions and cipher suites of both (ssl.enabled.protocols, ssl.cipher.suites); and whether the "
        f"listener asks for a certificate of the client (ssl.client.auth): {_OWN_CERTIFICATE}.",
    ),
    "unexpected_message": "Compare security.protocol of the client with that of the listener.",
}


def _query(side: str) -> str:
    """One finding for each client host, server and alert."""
    return f"""
with worked as (
    select distinct client_ip, server_ip, server_port from connections
    where tls_version is not null and tls_client_alert is null and tls_server_alert is null and server_bytes > 0
)
select null as client_instance_id, client_ip, server_ip, server_port, max(node_id) as node_id,
    tls_{side}_alert as alert, '{side}' as side, count(*) as n, min(first_ns) as first_ns, max(last_ns) as last_ns,
    collect_set(conn_id) as conn_ids, null as evidence, if(max(w.client_ip) is null, 'error', 'warning') as severity
from failed left join worked w using (client_ip, server_ip, server_port)
group by client_ip, server_ip, server_port, tls_{side}_alert"""


def _server(f: Facts) -> str:
    return node(f.node_id, f"{f.server_ip}:{f.server_port}")


def _ends(f: Facts) -> dict[str, str]:
    """Who sent the alert, and to whom, in words."""
    ends = [str(f.client_ip), _server(f)]
    sender, other = ends if f.side == "client" else ends[::-1]
    return {"sender": sender, "other": other}


def _sentence(f: Facts) -> str:
    why = WHY.get(f.alert, "gave the connection up").format(**_ends(f))
    others = "; other connections of the two worked" if f.severity == "warning" else ""
    return f"{_ends(f)['sender']} {why} (TLS alert {f.alert}), {times(f.n)}, first at {f.begin(f.first_ns)}{others}"


def _advice(f: Facts) -> str:
    default = "Look in the logs of {sender} for that time: it gave TLS up."
    return ADVICE.get(f.alert, default).format(**_ends(f))


def _detector(side: str) -> Detector:
    return Detector(
        reads={"failed": Where(CONNECTIONS, **{f"tls_{side}_alert": NOT_NULL})},
        query=_query(side),
        subject=_server,
        sentence=_sentence,
        advice=_advice,
    )


RULE = Rule(
    name="tls_failed",
    title="TLS was given up",
    severity="error",
    meaning="Client and server did not agree on TLS, or one did not trust the other: nothing of what the client is "
    "there for can happen on such a connection. Clients try again and again.",
    looks_at="Alerts of TLS that say what is wrong (RFC 8446, section 6.2). Those of TLS 1.2 handshakes are sent in "
    "clear; those of TLS 1.3 that come after the hellos are encrypted, and need a key log. A client that does not "
    "trust the server may also close the connection without an alert.",
    advice="Compare certificates, authorities, versions and cipher suites of both, as the alert says.",
    sources=("RFC 5246", "RFC 8446", "SslTransportLayer"),
    detectors=(_detector("client"), _detector("server")),
)
