"""`request_timeout`: a broker left one client's request without an answer."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, silences
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import IDLE_LEAST_MS
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client and server."""
    each = (
        tables.once(silences)
        .where(
            f"first_error_name = 'REQUEST_UNANSWERED' and kind <> 'broker' and coalesce(idle_ms, 0) < {IDLE_LEAST_MS}"
        )
        .groupBy("client_instance_id", "client_id", "client_ip", "server")
        .agg(
            *exprs(
                "count(*) as n",
                "max(old_node_id) as node_id",
                "array_sort(collect_set(api_name)) as apis",
                "max(start_ns - failing_ns) as waited_ns",
                "count_if(outcome = 'still_open') as n_open",
                "min(failing_ns) as first_ns",
                "max(coalesce(recovered_ns, start_ns)) as last_ns",
                "flatten(collect_list(evidence)) as evidence",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=f"concat({wording.called()}, ' got no answer from ', {wording.node('node_id', 'server')}, "
            f"' to ', coalesce(nullif({wording.listed('apis')}, ''), 'a request'), ' ', {wording.times('n')}, "
            f"', first sent at ', {wording.clock('first_ns')}, ', in up to ', {wording.lasting('waited_ns')}, "
            "if(n_open > 0, '; the connection was not given up before the capture ended', ''))",
            subject="server",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="request_timeout",
    title="A broker left a client's request without an answer",
    severity="warning",
    meaning="A request went out and nothing came back for longer than any broker takes. The client waits for "
    "request.timeout.ms, drops the connection, and sends the same again: records may be written twice unless the "
    "producer is idempotent.",
    looks_at="Requests without a response on a connection of which both directions were captured: the wait is the "
    "request's own (max_wait_ms of Fetch) and five seconds more; JoinGroup and SyncGroup may take longer. Where "
    "the whole broker was lost, broker_lost says so instead; where the connection had been idle, idle_reset.",
    advice="Look for what drops packets between this client and the broker (retransmissions in tcp_events tell), "
    "and for a stalled broker (request queue, garbage collection, disk). A lower request.timeout.ms (30 s by "
    "default in Java clients, socket.timeout.ms 60 s in librdkafka) notices it sooner.",
    sources=("org.apache.kafka.clients.NetworkClient#handleTimedOutRequests", "KIP-19"),
    find=find,
    signs=(Sign(RECOVERIES, "first_error_name", frozenset({"REQUEST_UNANSWERED"})),),
)
