"""`reauth_late`: a client did not authenticate again in time, and the broker closed its connection."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client."""
    closed = tables.once(owned).where(
        "session_lifetime_ms > 0 and close_kind in ('fin_server', 'rst_server') and close_ns is not null"
    )
    proven = (
        tables[REQUESTS]
        .groupBy("conn_id")
        .agg(
            *exprs(
                "max(response_ns) filter (where api_name = 'SaslAuthenticate' and error_code = 0) as proven_ns",
                "max_by(request_id, ts_ns) as request_id",
                "max_by(response_ns is null, ts_ns) as lost",
            )
        )
        .where("proven_ns is not null")
    )
    each = (
        closed.join(proven, "conn_id")
        .where("close_ns - proven_ns >= session_lifetime_ms * 1000000")
        .groupBy("client_instance_id", "client_id", "from_ip", "software_name", "software_version")
        .agg(
            *exprs(
                "count(*) as n",
                "count_if(lost) as n_lost",
                "max(session_lifetime_ms) as lifetime_ms",
                "collect_set(conn_id) as conn_ids",
                "min(close_ns) as first_ns",
                "max(close_ns) as last_ns",
                f"{wording.evidence('request_id', 'close_ns')} as evidence",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=f"concat({wording.called('client_id', 'from_ip')}, if(software_name is null, '', "
            "concat(', ', concat_ws(' ', software_name, software_version), ',')), "
            f"' did not authenticate again within ', {wording.lasting('(lifetime_ms * 1000000)')}, "
            f"': brokers closed ', {wording.counted('n', 'connection')}, "
            f"if(n_lost > 0, concat(', ', n_lost, ' with a request on the way'), ''), ', first at ', "
            f"{wording.clock('first_ns')})",
            subject="concat('session of ', lifetime_ms, ' ms')",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice="concat('Upgrade the client to one that re-authenticates (KIP-368), or raise "
            "connections.max.reauth.ms of the brokers (the session lasts ', lifetime_ms, ' ms now; a token that "
            "expires sooner shortens it), or set it to 0.')",
        ),
    )


RULE = Rule(
    name="reauth_late",
    title="A client did not authenticate again before its session ended",
    severity="warning",
    meaning="Brokers with connections.max.reauth.ms close a connection on the first request after its SASL session "
    "ended. The request is lost, and the client reconnects as after a failure, again and again.",
    looks_at="Connections whose SaslAuthenticate answer set a session lifetime, and that the broker closed when it "
    "was over since the last successful authentication. A client that is late without harm is none.",
    advice="Upgrade the client to one that re-authenticates (KIP-368), or raise connections.max.reauth.ms.",
    sources=("KIP-368", "SaslServerAuthenticator.ReauthInfo"),
    find=find,
    signs=(Sign(CONNECTIONS, "session_lifetime_ms", above=0),),
)
