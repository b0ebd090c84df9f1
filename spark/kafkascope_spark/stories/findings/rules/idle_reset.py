"""`idle_reset`: a device between client and broker dropped a connection that had been idle."""

from kafkascope_spark.stories.findings.conditions import at_least
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import UNANSWERED_OR_RESET
from kafkascope_spark.stories.findings.sql import joined_lists
from kafkascope_spark.stories.findings.thresholds import IDLE_LEAST_MS
from kafkascope_spark.stories.findings.wording import client, duration, node, times
from kafkascope_spark.stories.settings import setting

# One finding per client and server.
_QUERY = f"""
select client_instance_id, client_id, client_ip, server, count(*) as n, max(old_node_id) as node_id,
    min(idle_ms) as least_ms, bool_or(first_error_name = 'CONNECTION_RESET') as was_reset,
    min(failing_ns) as first_ns, max(coalesce(recovered_ns, start_ns)) as last_ns, null as conn_ids,
    {joined_lists("evidence", "failing_ns, recovery_id")} as evidence
from isolated_failures
where idle_ms >= {IDLE_LEAST_MS}
group by client_instance_id, client_id, client_ip, server"""


def _idle(f: Facts) -> str:
    return duration(f.least_ms * 1_000_000)


def _sentence(f: Facts) -> str:
    return (
        f"after {_idle(f)} without traffic the connection of {client(f.client_id, f.client_ip)} to "
        f"{node(f.node_id, f.server)}{' was reset by neither of them' if f.was_reset else ' was dead'} when it sent "
        f"its next request, {times(f.n)}, first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    own = setting("max_idle", f.libraries, defaults=True)
    close = (
        f"Set {own} of the client below {_idle(f)}, so that it closes idle connections itself; or raise"
        if own
        else ("Raise")
    )
    busy = setting("metadata_age", f.libraries, defaults=True)
    keepalive = ", socket.keepalive.enable=true" if "librdkafka" in f.libraries else ""
    return (
        f"{close} the idle timeout of the load balancer, NAT gateway or firewall on the way above 600000 ms, after "
        f"which brokers close (their own connections.max.idle.ms); or keep the connection busy ({busy}{keepalive})."
    )


DETECTOR = Detector(
    reads={"idle_connections": UNANSWERED_OR_RESET.and_where(idle_ms=at_least(IDLE_LEAST_MS))},
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
    advice=_advice,
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
    advice=f"Let the client close idle connections before the middlebox does ({setting('max_idle')}), or raise "
    "the middlebox's idle timeout above the brokers' 10 minutes.",
    sources=("org.apache.kafka.common.network.Selector.IdleExpiryManager", "RFC 5382"),
    detectors=(DETECTOR,),
)
