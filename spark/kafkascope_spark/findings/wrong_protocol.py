"""`wrong_protocol`: a client speaks another protocol than the port."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned, servers
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

_WHAT = """case
    when protocol = 'tls' and server_bytes = 0 and by_server and n_kafka > 0 then 'tls'
    when protocol = 'http' and n_kafka + n_tls > 0 then 'http'
    when protocol = 'kafka' and n_requests > 0 and n_responses = 0 and by_server and n_tls > 0 and n_kafka = 0
        then 'plain'
    end"""
_SPOKE = "case what when 'tls' then 'TLS' when 'http' then 'HTTP' else 'plain Kafka' end"
_IS = "if(n_kafka = 0, 'a TLS port', 'a plain Kafka port')"
_ADVICE = (
    "case what when 'tls' then 'Set security.protocol of the client (now SSL or SASL_SSL) to PLAINTEXT or "
    "SASL_PLAINTEXT, or give it the port of a TLS listener.' "
    "when 'http' then 'Give this client (a browser, a health check, a REST client) the address of the service that it "
    "looks for; to check a port of Kafka use a TCP check.' "
    "else 'Set security.protocol of the client (now PLAINTEXT or SASL_PLAINTEXT) to SSL or SASL_SSL, or give it the "
    "port of a plain listener.' end"
)


def find(tables: Tables) -> DataFrame:
    """One finding per client, port and protocol."""
    each = (
        tables.once(owned)
        .where("protocol in ('tls', 'http', 'kafka') and server_segments > 0 and client_segments > 0")
        .join(tables.once(servers).select("server", "n_kafka", "n_tls"), "server")
        .selectExpr("*", "close_kind in ('fin_server', 'rst_server') as by_server")
        .selectExpr("*", f"{_WHAT} as what")
        .where("what is not null")
        .groupBy("client_instance_id", "client_id", "from_ip", "server", "n_kafka", "what")
        .agg(
            *exprs(
                "count(*) as n",
                "transform(array_sort(collect_list(struct(first_ns, conn_id))), c -> c.conn_id) as evidence",
                "min(first_ns) as first_ns",
                "max(last_ns) as last_ns",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="error",
            sentence=f"concat({wording.called('client_id', 'from_ip')}, ' spoke ', {_SPOKE}, ' to ', server, "
            f"', which is ', {_IS}, ': ', {wording.counted('n', 'connection')}, ' came to nothing, first at ', "
            f"{wording.clock('first_ns')})",
            subject="server",
            client="client_instance_id",
            conn_ids="evidence",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice=_ADVICE,
        ),
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
    advice="Make security.protocol of the client and the port in bootstrap.servers fit to each other.",
    sources=("RFC 8446", "org.apache.kafka.common.network.NetworkReceive", "SslTransportLayer"),
    find=find,
    signs=(Sign(CONNECTIONS, "protocol", frozenset({"tls", "http"})),),
)
