"""`producer_stopped`: a producer sends no more records for a topic-partition after a Produce request that failed."""

from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import all_of, any_of, largest, longer_than, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, node
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.tables import CLIENTS

_LAST = largest("ts_ns")
_AWAY_NS = f"{limit.STAYS_AWAY_MS}000000L"
# One finding per client and server. `failed`: batches without an acceptance; a request without a response counts when
# its connection has ended, as its client may still be waiting for it. `alive`: the last answered request of the client;
# `again`: attempts to connect to that server that failed: then the server or the path is the cause.
_QUERY = f"""
with failed as (
    select o.client_instance_id, o.client_id, o.client_ip, o.software_name, o.server, o.server_ip, o.node_id, o.conn_id,
        r.request_id, r.ts_ns, p.topic, p.partition, p.n_records, a.error_name,
        if(r.status = 'unanswered', o.close_ns, r.response_ns) as failed_ns
    from failed_requests r join owned_connections o on o.conn_id = r.conn_id
        join partitions p on p.request_id = r.request_id and p.direction = 'request'
        left join partitions a on a.request_id = r.request_id and a.direction = 'response' and a.topic = p.topic
            and a.partition = p.partition
    where o.client_instance_id is not null and (r.status = 'unanswered' or coalesce(a.error_code, 0) <> 0)
), sent as (
    select c.client_instance_id, p.topic, p.partition, max(p.ts_ns) as sent_ns
    from partitions p join connection_clients c on c.conn_id = p.conn_id
    where p.api_key = {api_keys.PRODUCE} and p.direction = 'request'
        and c.client_instance_id in (select client_instance_id from failed)
    group by c.client_instance_id, p.topic, p.partition
), last_failed as (
    select f.* from failed f join sent s on s.client_instance_id = f.client_instance_id and s.topic = f.topic
        and s.partition = f.partition
    where f.ts_ns >= s.sent_ns and f.failed_ns is not null
), alive as (
    select c.client_instance_id, max(r.ts_ns) as alive_ns
    from requests r join connection_clients c on c.conn_id = r.conn_id
    where r.status = 'ok' and r.n_errors = 0
        and c.client_instance_id in (select client_instance_id from last_failed)
    group by c.client_instance_id
), each as (
    select f.client_instance_id, f.client_id, f.client_ip, f.software_name, f.server, f.server_ip,
        max(f.node_id) as node_id, count(distinct f.request_id) as n, min(f.ts_ns) as first_ns,
        max(f.failed_ns) as failed_ns, cast(sum(coalesce(f.n_records, 0)) as bigint) as n_records,
        {sorted_set("concat(f.topic, '-', f.partition)")} as places, {sorted_set("f.error_name")} as error_names,
        {first_ids("f.request_id", "f.ts_ns")} as evidence, max(a.alive_ns) as last_ns
    from last_failed f join alive a on a.client_instance_id = f.client_instance_id
    group by f.client_instance_id, f.client_id, f.client_ip, f.software_name, f.server, f.server_ip
    having max(a.alive_ns) - max(f.failed_ns) >= {_AWAY_NS}
), tries as (
    select e.client_instance_id, e.server, count(*) as n_tries
    from each e join owned_connections t on t.from_ip = e.client_ip and t.server = e.server
        and t.first_ns > e.failed_ns
    where t.close_kind in ('refused', 'unanswered')
    group by e.client_instance_id, e.server
), served as (
    select e.client_instance_id, e.server, count(distinct r.client_ip) as n_hosts
    from each e join owned_connections o on o.server = e.server
        join requests r on r.conn_id = o.conn_id and r.ts_ns > e.failed_ns and r.status = 'ok'
    group by e.client_instance_id, e.server
)
select e.*, coalesce(n_hosts, 0) as n_hosts, array(e.node_id) as node_ids, cast(null as array<string>) as conn_ids
from each e left join tries t on t.client_instance_id = e.client_instance_id and t.server = e.server
    left join served s on s.client_instance_id = e.client_instance_id and s.server = e.server
where n_tries is null"""


def _some_go_on(tables: Tables) -> bool:
    """Whether a client went on for long enough after one of its Produce requests had failed."""
    failed: dict[str, int] = {}
    for conn_id, ts_ns in rows_of(tables["failed_requests"], "conn_id", "ts_ns"):
        failed[conn_id] = max(failed.get(conn_id, 0), ts_ns)
    return any(
        last_ns - failed[conn_id] >= limit.STAYS_AWAY_MS * 1_000_000
        for conn_ids, last_ns in rows_of(tables["producers"], "conn_ids", "last_ns")
        for conn_id in conn_ids
        if conn_id in failed
    )


def _some_last_failed(tables: Tables) -> bool:
    """Whether the last Produce of a client for a topic-partition is one of those that failed."""
    failed = set(rows_of(tables["failed_requests"], "conn_id", "ts_ns"))
    sent = with_client(tables["last_sent"], tables["producers"])
    last: dict[tuple[str, str, int], tuple[int, str]] = {}
    for client_id, topic, partition, *at in rows_of(
        sent, "client_instance_id", "topic", "partition", str(_LAST), "conn_id"
    ):
        place, (ts_ns, conn_id) = (client_id, topic, partition), at
        last[place] = max(last.get(place, (0, "")), (ts_ns, conn_id))
    return any((conn_id, ts_ns) in failed for ts_ns, conn_id in last.values())


def _sentence(f: Facts) -> str:
    how = f"was refused ({listed(f.error_names)})" if f.error_names else "got no response before its connection ended"
    served = f", while that server answered {counted(f.n_hosts, 'host')}" if f.n_hosts else ""
    return (
        f"{client(f.client_id, f.client_ip)} sent no more records for {listed(f.places)} after its last Produce to "
        f"{node(f.node_id, f.server)} at {f.begin(f.first_ns)}, which {how}. It went on with other requests for "
        f"{duration(f.last_ns - f.failed_ns)}{served}, and tried neither that batch nor a later one: "
        f"{counted(f.n_records, 'record')} of it {'was' if f.n_records == 1 else 'were'} not accepted, as far as the "
        "capture shows"
    )


RULE = Rule(
    name="producer_stopped",
    title="A producer sends no more records after a request that failed",
    severity="error",
    meaning="A producer sends a batch again that was refused or got no response, or hands the failure to its "
    "application, which goes on with later records. One that does neither has stopped: a send thread that died, or an "
    "application that waits for a send that never ends. Its process, connections and metrics look well.",
    looks_at="The last Produce of a client for a topic-partition, if it was refused, or its connection ended before "
    f"the response, and other requests of the same client are answered {limit.STAYS_AWAY_MS // 1000} s and longer "
    "after that. Where the client tries to connect to that server and fails, the server or the path is the cause, and "
    "the rule reports nothing.",
    advice="Look at the log of the client for that time, restart it, and update its library. Take its own record of "
    "what it sent, and send again what was not accepted: the broker does not have it, unless it had written the batch "
    "before the connection ended. Let the application react to a send that fails (callback, future), and bound it in "
    "time (delivery.timeout.ms).",
    sources=("KIP-91", "KIP-98", "org.apache.kafka.clients.producer.internals.Sender"),
    detectors=(
        Detector(
            reads={
                "failed_requests": Where(
                    REQUESTS,
                    any_of(all_of(status="unanswered"), all_of(error_code=none_of(0))),
                    api_key=api_keys.PRODUCE,
                ),
                "producers": Where(CLIENTS, kind=none_of("broker"), conn_ids=longer_than(0)),
                "last_sent": Groups(
                    Where(PARTITIONS, api_key=api_keys.PRODUCE, direction="request"),
                    per=("conn_id", "topic", "partition"),
                    having=_LAST >= 0,
                ),
            },
            candidates=Candidates(
                {"failed_requests": ("conn_id", "ts_ns"), "producers": ("client_instance_id", "conn_ids", "last_ns")},
                _some_go_on,
                then=Candidates(
                    {
                        "failed_requests": ("conn_id", "ts_ns"),
                        "producers": ("client_instance_id", "conn_ids"),
                        "last_sent": ("conn_id", "topic", "partition", str(_LAST)),
                    },
                    _some_last_failed,
                ),
            ),
            query=_QUERY,
            subject=lambda f: listed(f.places),
            sentence=_sentence,
        ),
    ),
    follows=Follows(kinds=names_of(lambda kind: kind.name != "unexplained")),
)
