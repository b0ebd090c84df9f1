"""`idle_reset`: something between client and broker forgot a connection that had been idle."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, silences
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import IDLE_LEAST_MS
from kafkascope_spark.tables import Tables

_IDLE = wording.lasting("(least_ms * 1000000)")
_ADVICE = (
    f"concat('Set connections.max.idle.ms of the client below ', {_IDLE}, ' (540000 ms by default in Java clients), so "
    "that it closes idle connections itself; or raise the idle timeout of the load balancer, NAT gateway or firewall "
    "on the way above 600000 ms, after which brokers close; or keep the connection busy (metadata.max.age.ms, "
    "librdkafka: socket.keepalive.enable).')"
)


def find(tables: Tables) -> DataFrame:
    """One finding per client and server."""
    each = (
        tables.once(silences)
        .where(f"idle_ms >= {IDLE_LEAST_MS}")
        .groupBy("client_instance_id", "client_id", "client_ip", "server")
        .agg(
            *exprs(
                "count(*) as n",
                "max(old_node_id) as node_id",
                "min(idle_ms) as least_ms",
                "max(idle_ms) as most_ms",
                "bool_or(first_error_name = 'CONNECTION_RESET') as reset",
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
            sentence=f"concat('after ', {_IDLE}, ' without traffic the connection of ', {wording.called()}, ' to ', "
            f"{wording.node('node_id', 'server')}, if(reset, ' was reset by neither of them', ' was dead'), "
            f"' when it sent its next request, ', {wording.times('n')}, ', first at ', {wording.clock('first_ns')})",
            subject="server",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice=_ADVICE,
        ),
    )


RULE = Rule(
    name="idle_reset",
    title="A middlebox forgot a connection that had been idle",
    severity="warning",
    meaning="Client and broker both held the connection, and neither closed it; a load balancer, NAT gateway or "
    "firewall between them dropped it for being idle. The next request runs into nothing (and waits for a "
    "timeout) or into a reset.",
    looks_at="A request that got no answer, or a reset without a FIN, on a connection that had been silent for at "
    "least a minute, while the broker was not lost.",
    advice="Let the client close idle connections before the middlebox does (connections.max.idle.ms), or raise "
    "the middlebox's idle timeout above the brokers' 10 minutes.",
    sources=("org.apache.kafka.common.network.Selector.IdleExpiryManager", "RFC 5382"),
    find=find,
    signs=(Sign(RECOVERIES, "first_error_name", frozenset({"REQUEST_UNANSWERED", "CONNECTION_RESET"})),),
)
