"""`closed_at_large_requests`: a server ends each connection with a large request, and answers smaller ones."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import at_least, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, listed, node
from kafkascope_spark.stories.settings import setting

# One finding per program and server. `cut`: requests without an answer on connections that ended from the server's side
# while they came or right after; `taken`: the largest that the server answered, from any client. A limit lies between
# the two: the smallest one that was cut off is larger than all that were answered.
_QUERY = f"""
with cut as (
    select l.request_id, l.conn_id, l.ts_ns, l.request_bytes, o.server, o.node_id, o.client_instance_id, o.client_id,
        o.client_ip, o.software_name
    from large_requests l join owned_connections o on o.conn_id = l.conn_id
    where o.close_kind in {literals(CLOSED_BY_SERVER)} and {NO_BROKER}
        and o.close_ns between l.ts_ns and coalesce(l.request_last_ns, l.ts_ns) + {limit.AT_ONCE_MS} * 1000000L
), programs as (
    select client_id, client_ip, software_name, server, max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns,
        max(ts_ns) as last_ns, min(request_bytes) as least_bytes, {first_ids()} as evidence,
        array_sort(collect_set(conn_id)) as conn_ids,
        if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id
    from cut group by client_id, client_ip, software_name, server having count(*) >= {limit.REFUSED_AGAIN}
), taken as (
    select concat(server_ip, ':', server_port) as server, max(request_bytes) as most_bytes, count(*) as n_taken
    from requests where api_key = {api_keys.PRODUCE} and status = 'ok' and exists (select 1 from programs)
    group by server_ip, server_port
)
select p.*, t.most_bytes, t.n_taken, array(p.node_id) as node_ids
from programs p join taken t on t.server = p.server
where t.most_bytes < p.least_bytes"""


def _sentence(f: Facts) -> str:
    return (
        f"{node(f.node_id, f.server)} ended {counted(f.n, 'connection')} of {client(f.client_id, f.client_ip)} from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}, each at a Produce of {f.least_bytes} bytes or more, which it did "
        f"not answer. It answered {counted(f.n_taken, 'Produce', 'Produce')} of {f.most_bytes} bytes at most"
    )


def _advice(f: Facts) -> str:
    names = [name for name in (setting(c, f.libraries) for c in ("request_size", "batch_size")) if name]
    sizes = listed(names) if names else "the largest size of a request (max.request.size) and batch.size"
    return (
        f"The server takes no request of that size: lower {sizes} of {client(f.client_id, f.client_ip)} below "
        f"{f.least_bytes} bytes, or raise socket.request.max.bytes of the brokers (default 104857600; a proxy or a "
        "managed service has a limit of its own, 1 MB in some). What was in these requests is in no log, and the "
        "same size is cut again each time. The broker and the network are not the cause, nor is a limit of "
        "connections."
    )


RULE = Rule(
    name="closed_at_large_requests",
    title="A server ends each connection on which a large request comes",
    severity="error",
    meaning="A server reads the length of a request first, and ends the connection where that is above its limit: "
    "there is no error code for it. To the client it looks like a broker that fails; it connects, and sends the same "
    "again.",
    looks_at=f"Produce of {limit.LARGE_BYTES} bytes or more without an answer, on connections that ended from the "
    f"server's side while it came or within {limit.AT_ONCE_MS // 1000} s, {limit.REFUSED_AGAIN} times or more for one "
    "program and server, where every Produce that the server answered was smaller than each of them. A topic's own "
    "limit is answered with MESSAGE_TOO_LARGE.",
    advice="Lower the largest request of the client, or raise the server's limit (socket.request.max.bytes).",
    sources=("socket.request.max.bytes of the broker settings", "org.apache.kafka.common.network.NetworkReceive"),
    detectors=(
        Detector(
            reads={
                "large_requests": Where(
                    REQUESTS,
                    api_key=api_keys.PRODUCE,
                    status="unanswered",
                    request_bytes=at_least(limit.LARGE_BYTES),
                ),
                "closed_by_server": Groups(
                    Where(CONNECTIONS, close_kind=CLOSED_BY_SERVER),
                    per=("server_ip",),
                    having=count() >= limit.REFUSED_AGAIN,
                ),
            },
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | {"lost_records", "unexplained"}),
)
