"""`hello_not_answered`: a server does not answer the first request on a client's connections, but answers others."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import above, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed, node, times

# One finding per program and server. `mute`: connections on which the server acknowledged data but answered nothing;
# `others`: its responses to others at that time; `taken`: versions of ApiVersions that it answered at all.
_QUERY = f"""
with mute as (
    select h.request_id, h.conn_id, h.ts_ns, h.api_version, o.close_ns - h.ts_ns as waited_ns, o.server, o.node_id,
        o.client_instance_id, o.client_id, o.client_ip, o.software_name, o.software_version
    from hellos h join owned_connections o on o.conn_id = h.conn_id
    where o.n_responses = 0 and o.server_bytes = 0 and o.synack_ns is not null
        and o.close_kind in {literals(CLOSED_BY_CLIENT)} and {NO_BROKER}
        and o.close_ns - h.ts_ns >= {limit.PATIENCE_MS} * 1000000L
), programs as (
    select client_id, client_ip, server, api_version, max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns,
        max(ts_ns + waited_ns) as last_ns, min(waited_ns) as waited_ns, {first_ids()} as evidence,
        array_sort(collect_set(conn_id)) as conn_ids, max(software_name) as software_name,
        max(software_version) as software_version,
        if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id
    from mute group by client_id, client_ip, server, api_version having count(*) >= {limit.NEVER_ANSWERED}
), answered as (
    select p.client_id, p.client_ip, p.server, p.api_version,
        count_if(r.ts_ns between p.first_ns and p.last_ns) as n_others,
        array_sort(collect_set(if(r.api_key = {api_keys.API_VERSIONS}, r.api_version, null))) as taken
    from programs p join requests r on concat(r.server_ip, ':', r.server_port) = p.server and r.status = 'ok'
    group by p.client_id, p.client_ip, p.server, p.api_version
)
select p.*, a.n_others, a.taken, array(p.node_id) as node_ids
from programs p join answered a on a.client_id <=> p.client_id and a.client_ip = p.client_ip and a.server = p.server
    and a.api_version = p.api_version
where a.n_others > 0 and not array_contains(a.taken, p.api_version)"""


def _sentence(f: Facts) -> str:
    taken = listed([f"v{version}" for version in f.taken])
    versions = f", and ApiVersions {taken} of others" if f.taken else ""
    return (
        f"{node(f.node_id, f.server)} took the connections of {client(f.client_id, f.client_ip)} and never answered "
        f"ApiVersions v{f.api_version} on them, {times(f.n)} from {f.begin(f.first_ns)} to {f.at(f.last_ns)}; the "
        f"client gave up after {duration(f.waited_ns)} or more. It answered {counted(f.n_others, 'request')} of others "
        f"meanwhile{versions}"
    )


_ADVICE = (
    "The network is not the cause, and requests of others are answered. A Kafka broker answers a version of "
    "ApiVersions that it does not know (KIP-35, KIP-511): a proxy or a gateway that cannot read the newer one, or "
    "the answer to it, drops it and keeps the connection. Look in its log, and upgrade it; until then let the "
    "client ask in a version that others use (an older release of its library; kgo.MaxVersions, librdkafka's "
    "api.version.request=false). Where others had all connected before: see whether a new connection of any client "
    "is served. Longer timeouts do not help."
)
RULE = Rule(
    name="hello_not_answered",
    title="A server does not answer the first request of a client's connections",
    severity="error",
    meaning="The connection is established and TCP acknowledges its first request, but no response comes. It looks "
    "like a frozen broker, but the same broker serves others.",
    looks_at="ApiVersions as the only kind of request on connections on which the server sent nothing, which the "
    f"client closed after {limit.PATIENCE_MS // 1000} s or more, {limit.NEVER_ANSWERED} times or more for one program "
    "and version, while the server answered others, but none with that version of ApiVersions. A broker that answers "
    "nobody is left out.",
    advice=_ADVICE,
    sources=("KIP-35", "KIP-511"),
    detectors=(
        Detector(
            reads={
                "hellos": Where(REQUESTS, api_key=api_keys.API_VERSIONS, status="unanswered"),
                "silent_connections": Groups(
                    Where(CONNECTIONS, server_bytes=0, client_bytes=above(0), close_kind=CLOSED_BY_CLIENT),
                    per=("server_ip",),
                    having=count() >= limit.NEVER_ANSWERED,
                ),
            },
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=lambda _: _ADVICE,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
)
