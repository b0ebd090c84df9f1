"""`bootstrap_only`: a client looks up brokers, coordinators and offsets again and again, and does no work."""

from collections import defaultdict

from kafkascope_spark.stories.clients.table import PRODUCING_KINDS, READING_KINDS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import CLIENT, USED
from kafkascope_spark.stories.findings.sql import first_ids, literals, sorted_set
from kafkascope_spark.stories.findings.wording import client, duration, listed, node, times
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.tables import CLIENTS

METADATA = ("Metadata", "DescribeCluster", "DescribeTopicPartitions")
LOOKUPS = (*METADATA, "FindCoordinator", "InitProducerId", "OffsetFetch", "ListOffsets", "OffsetForLeaderEpoch")
"""Requests by which a client finds out what it needs before it works."""
GREETING = ("ApiVersions", "SaslHandshake", "SaslAuthenticate", "GetTelemetrySubscriptions", "PushTelemetry")
"""Requests that any connection may begin with, and telemetry."""
# One finding per client. `stuck`: its look-ups since the last request of another kind, if all of these were answered
# without an error. `tried`: connections that its host tried meanwhile, and that no server accepted; `coordinator`: the
# last one that FindCoordinator returned to it.
_QUERY = f"""
with worked as (
    select client_instance_id, max(last_ns) as worked_ns
    from used join connection_clients using (conn_id)
    where api_name not in {literals((*LOOKUPS, *GREETING))}
    group by client_instance_id
), calls as (
    select c.client_instance_id, r.request_id, r.ts_ns, r.api_name, r.n_errors, c.server, w.worked_ns
    from requests r join owned_connections c on c.conn_id = r.conn_id
        left join worked w on w.client_instance_id = c.client_instance_id
    where r.api_name in {literals(LOOKUPS)} and r.status = 'ok' and r.ts_ns > coalesce(w.worked_ns, 0)
        and c.client_instance_id in (select client_instance_id from seekers)
), by_api as (
    select client_instance_id, api_name, count(*) as n from calls group by client_instance_id, api_name
), named as (
    select client_instance_id, array_sort(collect_list(struct(-n as minus_n, api_name))) as apis
    from by_api group by client_instance_id
), looked as (
    select client_instance_id, count(*) as n, count_if(api_name not in {literals(METADATA)}) as n_others,
        count_if(n_errors > 0) as n_failed, min(ts_ns) as first_ns, max(ts_ns) as last_ns, max(worked_ns) as worked_ns,
        {sorted_set("server")} as servers, {first_ids()} as evidence
    from calls group by client_instance_id
), stuck as (
    select * from looked join (select {CLIENT} from seekers) using (client_instance_id)
    where n >= {limit.ASKED_AGAIN} and n_failed = 0 and last_ns - first_ns >= {limit.LOOKUPS_MS}000000L
        and (last_ns - first_ns) div n <= if(kind = 'unknown', {limit.LOOKUPS_OF_TOOL_MS}000000L,
            if(worked_ns is not null and n_others * 2 < n, {limit.LOOKUP_BACKOFF_MS}000000L,
            {limit.ASKED_AGAIN_MS}000000L))
), tried as (
    select client_instance_id, server, max(node_id) as node_id, count(*) as n_tries
    from (
        select s.client_instance_id, concat(a.server_ip, ':', a.server_port) as server, a.node_id
        from connections a join stuck s on s.client_ip = a.client_ip and a.first_ns between s.first_ns and s.last_ns
        where a.close_kind in ('refused', 'unanswered')
    )
    group by client_instance_id, server
), servers_tried as (
    select client_instance_id, array_sort(collect_list(struct(server, node_id, n_tries))) as tried
    from tried group by client_instance_id
), coordinator as (
    select s.client_instance_id, max(struct(t.ts_ns, t.node_id, t.host, t.port, t.coordinator_key, t.cluster)) as last
    from stuck s join connection_clients c on c.client_instance_id = s.client_instance_id
        join topology t on t.conn_id = c.conn_id and t.ts_ns >= s.first_ns
    where t.kind = 'coordinator' and t.node_id is not null
    group by s.client_instance_id
), listed as (
    select distinct cluster, node_id, true as is_listed from topology where kind = 'broker'
)
select stuck.*, apis, tried, last as coordinator, coalesce(is_listed, false) as is_listed,
    transform(tried, each -> each.node_id) as node_ids, cast(null as array<string>) as conn_ids,
    if(kind = 'unknown' or (worked_ns is null and tried is null), 'warning', 'error') as severity
from stuck join named using (client_instance_id) left join servers_tried using (client_instance_id)
    left join coordinator using (client_instance_id)
    left join listed on listed.cluster = last.cluster and listed.node_id = last.node_id"""


def _some_only_look_up(tables: Tables) -> bool:
    """Whether a client has enough look-ups after its last request of another kind."""
    worked: dict[str, int] = defaultdict(int)
    looked: dict[str, list[tuple[int, int]]] = defaultdict(list)
    used = with_client(tables["used"], tables["seekers"])
    for client_id, api_name, n, last_ns in rows_of(used, "client_instance_id", "api_name", "n", "last_ns"):
        if api_name in LOOKUPS:
            looked[client_id].append((n, last_ns))
        elif api_name not in GREETING:
            worked[client_id] = max(worked[client_id], last_ns)
    return any(
        sum(n for n, last_ns in lookups if last_ns > worked[client_id]) >= limit.ASKED_AGAIN
        for client_id, lookups in looked.items()
    )


def _sentence(f: Facts) -> str:
    asked = ", ".join(f"{each['api_name']} {times(-each['minus_n'])}" for each in f.apis)
    since = "after it had worked" if f.worked_ns is not None else "since its start"
    return (
        f"{client(f.client_id, f.client_ip)} ({f.kind}) sent {listed(f.servers)} nothing but look-ups {since}: "
        f"{asked}, in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)} on. Each was answered without an "
        f"error{_coordinator(f)}{_tried(f)}"
    )


def _coordinator(f: Facts) -> str:
    """Returns which coordinator FindCoordinator returned last."""
    if f.coordinator is None:
        return ""
    at = f"{f.coordinator['host']}:{f.coordinator['port']}"
    unlisted = "" if f.is_listed else ", which no Metadata response lists as a broker"
    return (
        f". The coordinator of {f.coordinator['coordinator_key']} is {node(f.coordinator['node_id'], at)} by these "
        f"responses{unlisted}"
    )


def _tried(f: Facts) -> str:
    """Returns the addresses at which no server accepted a connection."""
    if not f.tried:
        return ". No attempt of its host to connect failed meanwhile, as far as the capture shows"
    at = listed([f"{node(each['node_id'], each['server'])} {times(each['n_tries'])}" for each in f.tried])
    return f". Meanwhile no server accepted the connections that its host opened to {at}"


def _advice(f: Facts) -> str:
    if f.tried:
        where = listed([node(each["node_id"], each["server"]) for each in f.tried])
        gone = "" if f.coordinator is None or f.is_listed else _GONE
        return f"{_NOT_REACHED.format(where=where)}{gone}"
    if f.kind == "unknown":
        return _TOOL
    return _RESTART if f.worked_ns is not None else _PATH


_NOT_REACHED = (
    "The brokers name {where}, and nobody accepts connections there: start that broker, or correct its "
    "advertised.listeners, or let the client reach it (firewall, route, name)."
)
_GONE = (
    " A coordinator that is not among the brokers of Metadata has left the cluster: bring it back, or see why the "
    "leader of that partition of __consumer_offsets (__transaction_state for a transactional id) did not move to "
    "another replica. A restart of the client does not help."
)
_PATH = (
    "See where advertised.listeners send it, whether it can resolve and reach that, and whether the capture was made "
    "where that traffic passes (loopback, another interface, a service mesh)."
)
_TOOL = (
    "The brokers answer what it asks, and nothing refuses it: see in its own log what it waits for (a broker, a "
    "leader or a topic that these responses do not have), and let it ask less often."
)
_RESTART = (
    "The brokers answer it, and it does not use what they say: see its log, restart it, and update its library. No "
    "offset has to be set."
)
RULE = Rule(
    name="bootstrap_only",
    title="A client looks up brokers and offsets again and again, and does no work",
    severity="error",
    meaning="A client finds out about brokers, coordinators and offsets before it works, and repeats that when "
    "something changes. One that only repeats it makes no progress, though each request goes well: it cannot reach "
    "what the responses name, reaches it on a path that was not captured, or does not use the responses.",
    looks_at=f"Clients that sent only {', '.join(LOOKUPS)} since their last request of another kind: "
    f"{limit.ASKED_AGAIN} or more over {limit.LOOKUPS_MS // 1000} s or longer, all answered without an error, with at "
    f"most {limit.ASKED_AGAIN_MS // 1000} s between them on the average ({limit.LOOKUP_BACKOFF_MS // 1000} s for a "
    f"client that worked before and asks mostly for Metadata, {limit.LOOKUPS_OF_TOOL_MS} ms for one of which nothing "
    "else is known). A client without work asks once in minutes. Programs that read offsets of others, and brokers, "
    "are left out.",
    advice=f"Where it tries servers: {_NOT_REACHED.format(where='an address')}{_GONE} Where it never worked: {_PATH} "
    f"Where it worked before: {_RESTART} A tool: {_TOOL}",
    sources=("KIP-899", "KAFKA-13392", "org.apache.kafka.clients.NetworkClient"),
    detectors=(
        Detector(
            reads={"seekers": Where(CLIENTS, kind=(*READING_KINDS, *PRODUCING_KINDS, "unknown")), "used": USED},
            candidates=Candidates(
                {"seekers": ("client_instance_id", "conn_ids"), "used": ("conn_id", "api_name", "n", "last_ns")},
                _some_only_look_up,
            ),
            query=_QUERY,
            subject=lambda f: ", ".join(f.servers[:10]),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=names_of(lambda kind: kind.name != "unexplained")),
    unless=("advertised_unreachable", "leader_not_listed"),
)
