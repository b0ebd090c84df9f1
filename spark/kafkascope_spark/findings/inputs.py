"""What several rules look at, each made once (`tables.once`): servers, connections with their owners, outages."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark.findings.rule import MOST_EVIDENCE
from kafkascope_spark.findings.thresholds import ANSWERS_MEANWHILE_NS, AT_ONCE_NS, LEFT_NS, SILENT_CLIENTS
from kafkascope_spark.tables import CLIENT_COLUMNS, Tables

_NAME = "coalesce(nullif(client_id, ''), client_ip)"
SERVER = "concat(server_ip, ':', server_port)"
"""An address as recoveries and startups name it."""
BEHIND = "more than one broker is behind"
"""What connections.node_id_why says of an address of several brokers."""
BROKEN = frozenset(
    {
        "CONNECTION_CLOSED",
        "CONNECTION_RESET",
        "CONNECTION_REFUSED",
        "CONNECTION_UNANSWERED",
        "REQUEST_UNANSWERED",
        "RESPONSE_LATE",
    }
)
"""The errors that a connection can have: recoveries/failures.py."""


def owned(tables: Tables) -> DataFrame:
    """connections with server (its address), and the client that each belongs to (CLIENT_COLUMNS; null: nobody's)."""
    connections = tables[CONNECTIONS].selectExpr(
        "conn_id",
        f"{SERVER} as server",
        "server_ip",
        "server_port",
        "client_ip as from_ip",
        "node_id",
        "node_id_why",
        "protocol",
        "close_kind",
        "first_ns",
        "last_ns",
        "close_ns",
        "synack_ns",
        "sasl_mechanism",
        "session_lifetime_ms",
        "roles",
        "primary_role",
        "n_requests",
        "n_responses",
        "client_bytes",
        "server_bytes",
        "client_segments",
        "server_segments",
    )
    return connections.join(tables.clients_by_conn, on="conn_id", how="left")


def servers(tables: Tables) -> DataFrame:
    """One row per server address: server; n_there, its connections on which somebody answered or was spoken to; n_up,
    those with bytes both ways; n_kafka, n_tls, n_sasl, n_worked: those that answered Kafka requests, spoke TLS, used
    SASL, did more than ask for the cluster."""
    both = "client_bytes > 0 and server_bytes > 0"
    return (
        tables[CONNECTIONS]
        .groupBy("server_ip", "server_port")
        .agg(
            *exprs(
                "count_if(synack_ns is not null or client_bytes > 0 or server_bytes > 0) as n_there",
                f"count_if({both}) as n_up",
                "count_if(protocol = 'kafka' and n_responses > 0) as n_kafka",
                f"count_if(protocol = 'tls' and {both}) as n_tls",
                "count_if(sasl_mechanism is not null) as n_sasl",
                "count_if(size(array_except(roles, array('bootstrap', 'telemetry'))) > 0) as n_worked",
            )
        )
        .selectExpr(f"{SERVER} as server", "n_there", "n_up", "n_kafka", "n_tls", "n_sasl", "n_worked")
    )


def shared(tables: Tables) -> DataFrame:
    """server_ip, server_port: addresses that more than one broker is behind."""
    behind = f"node_id is null and contains(node_id_why, '{BEHIND}')"
    return tables[CONNECTIONS].where(behind).select("server_ip", "server_port").distinct()


def told(tables: Tables) -> DataFrame:
    """One row per client and broker address that Metadata told it: CLIENT_COLUMNS, host, port, from_server (who told),
    told_ns, told_by (the request), n_told."""
    columns = "request_id string, conn_id string, ts_ns bigint, brokers array<struct<host: string, port: int>>"
    by_conn = (
        tables.messages("Metadata/response", columns)
        .selectExpr("conn_id", "request_id", "ts_ns", "inline(brokers)")
        .groupBy("conn_id", "host", "port")
        .agg(*exprs("min(struct(ts_ns, request_id)) as first", "count(*) as n"))
    )
    return (
        by_conn.join(tables.once(owned).select("conn_id", "server", "server_ip", *CLIENT_COLUMNS), "conn_id")
        .where("client_instance_id is not null and kind <> 'broker'")
        .groupBy(*CLIENT_COLUMNS, "host", "port")
        .agg(
            *exprs(
                "min_by(server, first) as from_server",
                "min(first).ts_ns as told_ns",
                "min(first).request_id as told_by",
                "sum(n) as n_told",
            )
        )
    )


def outages(tables: Tables) -> DataFrame:
    """One row per cause for which a broker that was lost is the reason: what recoveries tell of it, n_meanwhile (what
    it answered to others all the same), n_at_first (that, or to who was back, in the first seconds), n_left
    (connections from before that went on). Only of servers that both directions were seen of.

    The reason is a lost broker where clients could not come back; or where several clients' requests to it were not
    answered, and nobody else's were either; or where several clients lost it at once, and no connection was left.
    """
    return tables.once(causes).where(
        f"n_failed_attempts > 0 or (n_silent >= {SILENT_CLIENTS} and n_at_first = 0) "
        f"or (n_at_once >= {SILENT_CLIENTS} and n_left = 0 and n_worked > 0)"
    )


def causes(tables: Tables) -> DataFrame:
    """One row per cause of connections' failures at one broker, and what went on there; see outages."""
    each = _failing(tables)
    return each.join(_meanwhile(tables, each.select("cause_id", "server", "first_ns", "first_back_ns")), "cause_id")


def _meanwhile(tables: Tables, lost: DataFrame) -> DataFrame:
    """cause_id, n_left, n_meanwhile, n_at_first of each broker that was lost. Narrow: a row for each of its answers."""
    before = tables[CONNECTIONS].selectExpr(
        f"{SERVER} as at", "conn_id", "first_ns as opened_ns", "coalesce(close_ns, last_ns) as ended_ns"
    )
    answers = tables[REQUESTS].where("response_ns is not null").selectExpr("conn_id as answered_on", "response_ns")
    there = exprs(f"at = server and opened_ns < first_ns and ended_ns > first_ns + {LEFT_NS}")[0]
    first = f"response_ns between first_ns + {ANSWERS_MEANWHILE_NS} and first_ns + {LEFT_NS}"
    # not until the last is back: some notice its return sooner than others (RFC 6298: doubled retransmission timeouts)
    known_lost = f"least(first_back_ns, first_ns + {LEFT_NS})"
    return (
        lost.join(before, there, "left")
        .join(answers, exprs(f"answered_on = conn_id and {first}")[0], "left")
        .groupBy("cause_id")
        .agg(
            *exprs(
                "size(collect_set(conn_id)) as n_left",
                f"count_if(response_ns < {known_lost}) as n_meanwhile",
                "count(response_ns) as n_at_first",
            )
        )
    )


def _failing(tables: Tables) -> DataFrame:
    """Connections' failures at one broker, by cause."""
    names = "collect_set(if(kind <> 'broker', {}, null))"
    unanswered = "first_error_name in ('REQUEST_UNANSWERED', 'RESPONSE_LATE')"
    silent = f"{unanswered} or first_error_name = 'CONNECTION_UNANSWERED'"
    felt = f"if({silent}, coalesce(failing_ns, start_ns), start_ns)"
    hung_up = "first_error_name in ('CONNECTION_CLOSED', 'CONNECTION_RESET')"
    return (
        tables[RECOVERIES]
        .where("resource_kind = 'connection'")
        .join(tables[CLIENTS].select("client_instance_id", "client_id", "client_ip", "kind"), "client_instance_id")
        .groupBy("cause_id")
        .agg(
            *exprs(
                "min_by(resource, start_ns) as server",
                "max(old_node_id) as node_id",
                f"size({names.format('client_instance_id')}) as n_clients",
                f"array_sort({names.format(_NAME)}) as names",
                "size(collect_set(if(kind = 'broker', client_instance_id, null))) as n_brokers",
                "if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id",
                "sum(n_errors) as n",
                "count_if(outcome = 'still_open' and kind <> 'broker') as n_open",
                "count_if(arrays_overlap(error_names, array('CONNECTION_REFUSED', 'CONNECTION_UNANSWERED'))) "
                "as n_failed_attempts",
                f"size(collect_set(if({unanswered}, client_instance_id, null))) as n_silent",
                f"collect_set(if({hung_up}, struct(start_ns, client_instance_id), null)) as hung_up",
                f"min_by(first_error_name, {felt}) as first_error",
                f"min({felt}) as first_ns",
                "max(start_ns) as last_start_ns",
                "max(recovered_ns) as last_back_ns",
                "min(recovered_ns) as first_back_ns",
                f"flatten(min_by(evidence, struct(start_ns, recovery_id), {MOST_EVIDENCE})) as evidence",
            )
        )
        .join(tables.once(servers).where("n_up > 0").select("server", "n_worked"), "server")
        .withColumn(
            "n_at_once",
            exprs(
                f"size(array_distinct(filter(hung_up, e -> e.start_ns <= first_ns + {AT_ONCE_NS}).client_instance_id))"
            )[0],
        )
        .drop("hung_up")
    )


def silences(tables: Tables) -> DataFrame:
    """One row per episode of a connection that left a request without an answer, or was reset, outside of outages:
    recoveries' columns, conn_id, idle_ms (silence on the connection before that request), api_name of the request."""
    episodes = (
        tables[RECOVERIES]
        .where("resource_kind = 'connection' and first_error_name in ('REQUEST_UNANSWERED', 'CONNECTION_RESET')")
        .withColumnRenamed("resource", "server")
        .join(tables.once(outages).select("cause_id"), "cause_id", "left_anti")
        .join(tables.once(servers).where("n_up > 0").select("server"), "server")
        .selectExpr("*", "evidence[0] as failing_id", "substring_index(evidence[0], '-', 1) as conn_id")
    )
    on_it = tables[REQUESTS].select("conn_id", "request_id", "api_name", "request_last_ns", "response_last_ns")
    before = "if(response_last_ns < failing_ns, greatest(request_last_ns, response_last_ns), null)"
    seen = (
        episodes.select("recovery_id", "conn_id", "failing_ns", "failing_id")
        .join(on_it, "conn_id")
        .groupBy("recovery_id")
        .agg(
            *exprs(
                f"(min(failing_ns) - max({before})) div 1000000 as idle_ms",
                "max(if(request_id = failing_id, api_name, null)) as api_name",
            )
        )
    )
    return episodes.join(seen, "recovery_id").join(
        tables[CLIENTS].select("client_instance_id", "client_id", "client_ip", "kind"), "client_instance_id"
    )


def exprs(*texts: str) -> list[Column]:
    """Columns of Spark SQL: what `agg` takes."""
    return [fn.expr(text) for text in texts]
