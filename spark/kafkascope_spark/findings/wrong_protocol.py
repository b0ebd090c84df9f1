"""`wrong_protocol`: a client speaks another protocol than the port."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.findings.read import Read
from kafkascope_spark.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.findings.sql import first_ids
from kafkascope_spark.findings.wording import client, counted
from kafkascope_spark.settings import setting

_BY_SERVER = "close_kind in ('fin_server', 'rst_server')"
# One finding per client, port and protocol.
_QUERY = f"""
select client_instance_id, client_id, from_ip, server, n_kafka, protocol, count(*) as n,
    {first_ids("conn_id", "first_ns")} as evidence, collect_set(conn_id) as conn_ids, min(first_ns) as first_ns,
    max(last_ns) as last_ns
from (
    select conn_id, client_ip as from_ip, concat(server_ip, ':', server_port) as server, protocol, first_ns, last_ns
    from fruitless
) join (select server, n_kafka, n_tls from servers) using (server)
left join connection_clients using (conn_id)
where (protocol = 'tls' and n_kafka > 0) or (protocol = 'http' and n_kafka + n_tls > 0)
    or (protocol = 'kafka' and n_tls > 0 and n_kafka = 0)
group by client_instance_id, client_id, from_ip, server, n_kafka, protocol"""
_SPOKE = {"tls": "TLS", "http": "HTTP", "kafka": "plain Kafka"}
_ADVICE = {
    "tls": "Let the client speak without TLS ({security}), or give it the port of a TLS listener.",
    "http": "Give this client (a browser, a health check, a REST client) the address of the service that it looks for; "
    "to check a port of Kafka use a TCP check.",
    "kafka": "Let the client speak TLS ({security}), or give it the port of a plain listener.",
}


def _sentence(f: Facts) -> str:
    port = "a TLS port" if f.n_kafka == 0 else "a plain Kafka port"
    return (
        f"{client(f.client_id, f.from_ip)} spoke {_SPOKE[f.protocol]} to {f.server}, which is {port}: "
        f"{counted(f.n, 'connection')} came to nothing, first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    return _ADVICE[f.protocol].format(security=setting("security", f.libraries))


DETECTOR = Detector(
    reads={
        "other_protocols": Read(CONNECTIONS, "protocol in ('tls', 'http')"),
        "fruitless": Read(
            CONNECTIONS,
            "server_segments > 0 and client_segments > 0 and (protocol = 'http' "
            f"or (protocol = 'tls' and server_bytes = 0 and {_BY_SERVER}) "
            f"or (protocol = 'kafka' and n_requests > 0 and n_responses = 0 and {_BY_SERVER}))",
        ),
    },
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="wrong_protocol",
    title="A client speaks another protocol than the port",
    severity="error",
    meaning="TLS to a plain listener, plain Kafka to a TLS listener, or HTTP to either: the broker reads nonsense "
    "and closes. Clients report a lost connection or a huge message size, not the reason.",
    looks_at="Connections that begin with a TLS handshake and get no byte back from an address that answers plain "
    "Kafka to others; Kafka requests without an answer at an address where others speak TLS; HTTP at an address "
    "that speaks either. Where nobody shows what the port speaks, it says nothing.",
    advice=f"Make {setting('security')} of the client fit to the port in its {setting('bootstrap')}.",
    sources=("RFC 8446", "org.apache.kafka.common.network.NetworkReceive", "SslTransportLayer"),
    detectors=(DETECTOR,),
)
