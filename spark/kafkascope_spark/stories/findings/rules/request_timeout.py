"""`request_timeout`: a broker left one client's request without a response."""

from collections.abc import Collection

from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import ANSWERING_SERVERS
from kafkascope_spark.stories.findings.sql import joined_lists, sorted_set
from kafkascope_spark.stories.findings.thresholds import IDLE_LEAST_MS, THROTTLED_MS
from kafkascope_spark.stories.findings.wording import client, duration, listed, node, times
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import RECOVERIES

# One finding per client and server. A broker reads nothing from a connection that it mutes for a quota: such requests
# are left to the rule throttled.
_QUERY = f"""
with muted as (
    select client_instance_id, server, response_ns as from_ns, response_ns + throttle_ms * 1000000L as to_ns
    from requests join (select conn_id as own_id, client_instance_id, server from owned_connections)
        on conn_id = own_id
    where throttle_ms >= {THROTTLED_MS} and exists (select 1 from unanswered)
)
select client_instance_id, client_id, client_ip, server, count(*) as n, max(old_node_id) as node_id,
    {sorted_set("old_node_id")} as node_ids,
    {sorted_set("failing_api")} as apis, max(start_ns - failing_ns) as waited_ns,
    count_if(outcome = 'still_open') as n_open, min(failing_ns) as first_ns,
    max(coalesce(recovered_ns, start_ns)) as last_ns, null as conn_ids,
    {joined_lists("evidence", "failing_ns, recovery_id")} as evidence
from isolated_failures f left anti join muted m on m.client_instance_id = f.client_instance_id
    and m.server = f.server and f.start_ns between m.from_ns and m.to_ns
where first_error_name = 'REQUEST_UNANSWERED' and kind <> 'broker' and coalesce(idle_ms, 0) < {IDLE_LEAST_MS}
group by client_instance_id, client_id, client_ip, server"""


def _sentence(f: Facts) -> str:
    still_open = "; the connection was not given up before the capture ended" if f.n_open > 0 else ""
    return (
        f"{client(f.client_id, f.client_ip)} got no answer from {node(f.node_id, f.server)} to "
        f"{listed(f.apis) or 'a request'} {times(f.n)}, first sent at {f.begin(f.first_ns)}, in up to "
        f"{duration(f.waited_ns)}{still_open}"
    )


def _advice(libraries: Collection[str]) -> str:
    return (
        "Look for what drops packets between this client and the broker (retransmissions in tcp_events show it), and "
        "for a stalled broker (request queue, garbage collection, disk). A lower "
        f"{setting('request_timeout', libraries, defaults=True)} notices it sooner."
    )


def _server_answers(tables: Tables) -> bool:
    """Whether both directions of a server with an unanswered request were captured."""
    answering = {f"{ip}:{port}" for ip, port in rows_of(tables["answering_servers"], "server_ip", "server_port")}
    return any(resource in answering for (resource,) in rows_of(tables["unanswered"], "resource"))


DETECTOR = Detector(
    reads={
        "unanswered": Where(RECOVERIES, resource_kind="connection", first_error_name="REQUEST_UNANSWERED"),
        "answering_servers": ANSWERING_SERVERS,
    },
    candidates=Candidates(
        {"unanswered": ("resource",), "answering_servers": ("server_ip", "server_port")}, _server_answers
    ),
    query=_QUERY,
    subject=fact("server"),
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="request_timeout",
    title="A broker left a client's request without an answer",
    severity="warning",
    meaning="A request got no response for longer than any broker takes. The client waits for "
    "its request timeout, drops the connection, and sends the same again: records may be written twice unless the "
    "producer is idempotent.",
    looks_at="Requests without a response on a connection of which both directions were captured: the wait is the "
    "request's own (max_wait_ms of Fetch) and five seconds more; JoinGroup and SyncGroup may take longer. Where "
    "the whole broker was lost, broker_lost says so instead; where the connection had been idle, idle_reset; where the "
    "broker had muted the client for a quota, throttled.",
    advice=_advice(()),
    sources=("org.apache.kafka.clients.NetworkClient#handleTimedOutRequests", "KIP-19"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication"}, keeps_advice=False),
)
