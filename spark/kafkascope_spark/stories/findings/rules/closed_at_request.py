"""`closed_at_request`: a server ends each connection at one kind of request, without an answer."""

from collections import Counter
from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers.api_keys import SASL_APIS, TELEMETRY_APIS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, none_of
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, listed, node

ZOOKEEPER_PORT = 2181
"""The default of ZooKeeper's clientPort."""
_ENDS = ("client_ip", "server_ip", "server_port")
# One finding per program, server, API and version, with the first of its clients. A server that closes a connection
# with unread bytes sends a RST: a FIN shows that it read the request, and ended the connection because of it. `taken`:
# versions of the API that it answered; `offered`: the highest version that it announced to any client.
_QUERY = f"""
with at_request as (
    select r.request_id, r.conn_id, r.ts_ns, r.api_key, r.api_name, r.api_version, c.server, c.node_id,
        c.client_instance_id, c.client_id, c.client_ip, c.software_name, c.software_version,
        row_number() over (partition by r.conn_id order by r.ts_ns, r.request_id) as place
    from unanswered r join owned_connections c on r.conn_id = c.conn_id
    where c.close_kind = 'fin_server' and c.close_ns between r.ts_ns and r.ts_ns + {limit.AT_ONCE_MS} * 1000000L
        and {NO_BROKER}
), programs as (
    select client_id, client_ip, software_name, software_version, server, api_key, api_name, api_version,
        max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        {first_ids()} as evidence, collect_set(conn_id) as conn_ids,
        min_by(client_instance_id, struct(ts_ns, request_id)) as client_instance_id
    from at_request where place = 1
    group by client_id, client_ip, software_name, software_version, server, api_key, api_name, api_version
    having count(*) >= {limit.REFUSED_AGAIN}
), answered as (
    select c.server, r.api_key, r.api_version, max(r.ts_ns) as answered_ns
    from requests r join owned_connections c on r.conn_id = c.conn_id
    where r.status = 'ok' and exists (select 1 from programs) group by c.server, r.api_key, r.api_version
), served as (
    select p.server, p.api_key, max(a.answered_ns >= p.first_ns) as others,
        array_sort(collect_set(if(a.api_key = p.api_key, a.api_version, null))) as taken
    from (select server, api_key, min(first_ns) as first_ns from programs group by server, api_key) p
        join answered a using (server)
    group by p.server, p.api_key
), announced as (
    select server, split_part(offer, ':', 1) as api_name, max(cast(split_part(offer, '-', 2) as int)) as highest,
        min(cast(split_part(split_part(offer, ':', 2), '-', 1) as int)) as lowest
    from (
        select concat(server_ip, ':', server_port) as server, explode(api_versions_offered) as offer from connections
        where exists (select 1 from programs)
    ) group by server, split_part(offer, ':', 1)
)
select p.*, if(p.api_key in {literals(TELEMETRY_APIS)}, 'warning', 'error') as severity,
    coalesce(s.taken, array()) as taken, coalesce(s.others, false) as others, a.highest, a.lowest,
    array(p.node_id) as node_ids
from programs p left join served s on s.server = p.server and s.api_key = p.api_key
    left join announced a on a.server = p.server and a.api_name = p.api_name
where not array_contains(coalesce(s.taken, array()), p.api_version)"""


def _ends_again(tables: Tables) -> bool:
    """Whether a server ended enough connections of a host at one API and version for a finding."""
    closed = {conn: rest for conn, *rest in rows_of(tables["closed"], "conn_id", "close_ns", *_ENDS)}
    at_request = {
        (conn, *closed[conn][1:], *what)
        for conn, ts_ns, *what in rows_of(tables["unanswered"], "conn_id", "ts_ns", "api_key", "api_version")
        if conn in closed and 0 <= closed[conn][0] - ts_ns <= limit.AT_ONCE_MS * 1_000_000
    }
    return max(Counter(each[1:] for each in at_request).values(), default=0) >= limit.REFUSED_AGAIN


def _what(f: Facts) -> str:
    return f"{f.api_name} v{f.api_version}"


def _is_outside(f: Facts) -> bool:
    """Whether the server had announced that it does not support this version."""
    return f.highest is not None and not f.lowest <= f.api_version <= f.highest


def _sentence(f: Facts) -> str:
    return (
        f"{node(f.node_id, f.server)} closed {counted(f.n, 'connection')} of {client(f.client_id, f.client_ip)} right "
        f"after {_what(f)}, without an answer, from {f.begin(f.first_ns)} to {f.at(f.last_ns)}{_contrast(f)}"
    )


def _contrast(f: Facts) -> str:
    if _is_outside(f):
        return f": it takes {f.api_name} v{f.lowest} to v{f.highest}, as it says in ApiVersions"
    if f.taken:
        return f": it answered {listed([f'{f.api_name} v{version}' for version in f.taken])} meanwhile"
    return ": it answered others meanwhile" if f.others else "; it answered no such request meanwhile"


def _advice(f: Facts) -> str:
    if f.api_name == "ApiVersions":
        if f.server.endswith(f":{ZOOKEEPER_PORT}"):
            return _ZOOKEEPER
        return _HELLO if f.others else f"{_HELLO} {_NOBODY}"
    if _is_outside(f):
        return _OUTSIDE
    if f.api_key in TELEMETRY_APIS:
        return _TELEMETRY
    return _OTHER if f.others else f"{_OTHER} {_NOBODY}"


_OUTSIDE = (
    "The client asks this broker in a version that it does not have: it asked another broker for its versions, or "
    "none (brokers of several releases in one cluster, as during an upgrade; a version that is set by hand). Bring "
    "all brokers to one release, or use a library that asks each broker (ApiVersions on every connection); until "
    "then remove a fixed version from its settings, or set it to what the oldest broker takes. A limit of "
    "connections is not the cause, and the broker does not fail."
)
_HELLO = (
    "A Kafka broker answers a version of ApiVersions that it does not know with UNSUPPORTED_VERSION and the "
    "versions that it has (KIP-35, KIP-511): a server that closes the connection is older than Kafka 0.10, or a "
    "gateway that does not do this. Upgrade it; until then let the client ask in a version that it takes, or not at "
    "all (librdkafka: api.version.request=false with broker.version.fallback, an older release of the library)."
)
_ZOOKEEPER = (
    f"Port {ZOOKEEPER_PORT} is ZooKeeper's, which does not speak Kafka's protocol: give the client a broker's address "
    "in bootstrap.servers (port 9092 by default). Clients of Kafka have not needed ZooKeeper since 0.9, and brokers "
    "since 4.0 have none."
)
_OTHER = (
    "The log of the broker says why it ends these connections: it does not take this version of the request (Kafka 4.0 "
    "removed old ones: upgrade the library, or remove a fixed version of brokers from its settings), the request is "
    "larger than socket.request.max.bytes, or it is malformed."
)
_TELEMETRY = (
    "Switch the client's metrics off (enable.metrics.push=false), or delete the subscription at the brokers "
    "(kafka-client-metrics.sh --list, --delete): the broker cannot read what the client sends of its metrics (KIP-714; "
    "its log has an InvalidRequestException), and ends the connection, with all requests that are in flight on it. "
    "Update the library. Records are not the cause."
)
_NOBODY = "Where a proxy or a load balancer stands there: see whether it has a backend."


def _all_advice(texts: Collection[str]) -> str:
    return " ".join(texts)


RULE = Rule(
    name="closed_at_request",
    title="A server ends each connection at one kind of request",
    severity="error",
    meaning="The server reads the request, does not answer it and closes the connection; the client connects again and "
    "sends the same. It looks like a broker that fails, or like a limit of connections, and is neither: what is asked "
    "for is not what the server takes.",
    looks_at=f"Connections that the server ended with a FIN within {limit.AT_ONCE_MS // 1000} s of a request that it "
    f"did not answer, {limit.REFUSED_AGAIN} times or more for one API and version, of which it answered no other such "
    "request. A server whose limit of connections is reached has not read the request, and sends a RST when it closes. "
    "A warning where the requests only carry metrics of the client, which works without them. "
    "Authentication, which has rules of its own, is left out.",
    advice=_all_advice((_OUTSIDE, _HELLO, _ZOOKEEPER, _TELEMETRY, _OTHER, _NOBODY)),
    sources=(
        "KIP-35",
        "KIP-511",
        "KIP-714",
        "RFC 2525, section 2.17",
        "org.apache.kafka.common.requests.RequestContext",
    ),
    detectors=(
        Detector(
            reads={
                "unanswered": Where(REQUESTS, status="unanswered", api_key=none_of(*SASL_APIS)),
                "closed": Where(CONNECTIONS, close_kind="fin_server", close_ns=NOT_NULL),
            },
            candidates=Candidates(
                {
                    "unanswered": ("conn_id", "ts_ns", "api_key", "api_version"),
                    "closed": ("conn_id", "close_ns", *_ENDS),
                },
                _ends_again,
            ),
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=frozenset({"lost_records"})),
    unless=("auth_failed", "reauth_late", "wrong_protocol"),
)
