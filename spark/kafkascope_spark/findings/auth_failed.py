"""`auth_failed`: a broker refused who a client says it is, or a client did not say."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, REQUESTS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned, servers
from kafkascope_spark.findings.rule import Finding, Rule, Way, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import UNAUTHENTICATED
from kafkascope_spark.tables import Tables

REFUSED = frozenset({"SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE"})
_WHO = wording.called("client_id", "from_ip")
_ADVICE = (
    "case when error_name = 'UNSUPPORTED_SASL_MECHANISM' then concat('Set sasl.mechanism of the client (now ', "
    "mechanisms, ') to one that the listener has in sasl.enabled.mechanisms, or add it there.') "
    "when error_name = 'ILLEGAL_SASL_STATE' and n_proven = 0 then 'The listener does no SASL: set security.protocol of "
    "the client to PLAINTEXT or SSL, or give it the port of a SASL listener.' "
    "when error_name = 'ILLEGAL_SASL_STATE' then 'The client authenticates again in a way that the broker does not "
    "take (KIP-368): upgrade it, or set connections.max.reauth.ms of the broker to 0.' "
    "else concat('Correct user name and password of the client (sasl.jaas.config), or create the credentials on the "
    "cluster (SCRAM: kafka-configs.sh --alter --add-config); mechanism ', mechanisms, "
    "if(principals = '', '', concat(', principal ', principals)), '.') end"
)


def refused(tables: Tables) -> DataFrame:
    """The broker answered that it does not accept it. One finding per client and error."""
    each = (
        tables[ERRORS]
        .where(f"error_name in ({', '.join(repr(name) for name in sorted(REFUSED))})")
        .select("conn_id", "request_id", "ts_ns", "error_name", "message")
        .join(tables.once(owned), "conn_id")
        .groupBy("client_instance_id", "client_id", "from_ip", "error_name")
        .agg(
            *exprs(
                "count(*) as n",
                "coalesce(array_join(array_sort(collect_set(sasl_mechanism)), ', '), '') as mechanisms",
                "coalesce(array_join(array_sort(collect_set(principal)), ', '), '') as principals",
                "count_if(session_lifetime_ms is not null) as n_proven",
                "array_sort(collect_set(server)) as servers",
                "min_by(message, ts_ns) as message",
                "collect_set(conn_id) as conn_ids",
                "min(ts_ns) as first_ns",
                "max(ts_ns) as last_ns",
                f"{wording.evidence()} as evidence",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="error",
            sentence=f"concat({_WHO}, ' was refused by ', {wording.listed('servers')}, ' with ', "
            "error_name, if(mechanisms = '', '', concat(', mechanism ', mechanisms)), "
            f"if(principals = '', '', concat(', principal ', principals)), ', ', {wording.times('n')}, ', first at ', "
            f"{wording.clock('first_ns')}, if(coalesce(message, '') = '', '', concat(': ', message)))",
            subject="concat(error_name, ' ', mechanisms)",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice=_ADVICE,
        ),
    )


def unauthenticated(tables: Tables) -> DataFrame:
    """A SASL listener hangs up on a client that begins without SASL. One finding per client and server."""
    silent = (
        tables.once(owned)
        .where("protocol = 'kafka' and sasl_mechanism is null and close_kind in ('fin_server', 'rst_server')")
        .where("client_segments > 0 and server_segments > 0 and coalesce(kind, 'unknown') <> 'broker'")
        .join(tables.once(servers).where("n_sasl > 0").select("server"), "server")
    )
    asked = (
        tables[REQUESTS]
        .groupBy("conn_id")
        .agg(
            *exprs(
                "count_if(response_ns is not null and api_name <> 'ApiVersions') as n_answered",
                "min_by(request_id, ts_ns) filter (where response_ns is null and api_name not in "
                "('ApiVersions', 'SaslHandshake', 'SaslAuthenticate')) as request_id",
                "min_by(api_name, ts_ns) filter (where response_ns is null) as api_name",
                "min(ts_ns) as ts_ns",
            )
        )
        .where("n_answered = 0 and request_id is not null")
    )
    each = (
        silent.join(asked, "conn_id")
        .groupBy("client_instance_id", "client_id", "from_ip", "server")
        .agg(
            *exprs(
                "count(*) as n",
                "array_sort(collect_set(api_name)) as apis",
                "collect_set(conn_id) as conn_ids",
                "min(ts_ns) as first_ns",
                "max(ts_ns) as last_ns",
                f"{wording.evidence()} as evidence",
            )
        )
        .where(f"n >= {UNAUTHENTICATED}")
    )
    return found(
        each,
        Finding(
            severity="error",
            sentence=f"concat({_WHO}, ' did not authenticate at ', server, ', which asks for SASL: "
            f"it closed ', {wording.counted('n', 'connection')}, ' on ', {wording.listed('apis')}, "
            f"', first at ', {wording.clock('first_ns')})",
            subject="server",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice="'Set security.protocol of the client (now PLAINTEXT or SSL) to SASL_PLAINTEXT or SASL_SSL, with "
            "sasl.mechanism and sasl.jaas.config; or give it the port of a listener without SASL.'",
        ),
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
    advice="Correct security.protocol, sasl.mechanism and sasl.jaas.config of the client, or its credentials on "
    "the cluster.",
    sources=("KIP-43", "KIP-152", "KIP-368", "SaslServerAuthenticator"),
    find=refused,
    signs=(Sign(ERRORS, "error_name", REFUSED),),
    also=(Way(unauthenticated, (Sign(CONNECTIONS, "sasl_mechanism", pattern="."),)),),
)
