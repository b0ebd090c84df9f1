"""`gave_up_too_soon`: a client closes connections before its responses arrive."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, column, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, node
from kafkascope_spark.stories.settings import setting

_CLOSED = Where(
    CONNECTIONS,
    column("last_ns") - column("close_ns") > limit.AFTER_CLOSE_MS * 1_000_000,
    close_kind=CLOSED_BY_CLIENT,
)
"""Connections on which data came after the client had closed them."""
# One finding per client, server and API. A client that ends also has requests in flight; a client that goes on sends
# the same requests on a later connection. `others`: responses of the same API to other clients.
_QUERY = f"""
with calls as (
    select r.request_id, r.conn_id, r.ts_ns, r.api_key, r.api_name, r.response_ns, r.latency_us, r.status,
        coalesce(r.max_wait_ms, 0) as max_wait_ms, c.close_ns, c.server, c.node_id, c.client_instance_id, c.client_id,
        c.client_ip, c.software_name
    from requests r join owned_connections c on r.conn_id = c.conn_id
    where {NO_BROKER} and r.status = 'ok' and exists (select 1 from closed)
), each as (
    select client_instance_id, client_id, client_ip, software_name, server, api_key, api_name,
        max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        max(close_ns) as closed_ns, cast(percentile(close_ns - ts_ns, 0.5) as bigint) as patience_ns,
        cast(percentile(response_ns - ts_ns, 0.5) as bigint) as took_ns, {first_ids()} as evidence,
        collect_set(conn_id) as conn_ids
    from calls left semi join closed using (conn_id)
    where response_ns > close_ns and close_ns - ts_ns > max_wait_ms * 1000000L
    group by client_instance_id, client_id, client_ip, software_name, server, api_key, api_name
    having count(*) >= {limit.REFUSED_AGAIN}
), compared as (
    select e.client_instance_id, e.server, e.api_key,
        count_if(c.client_instance_id = e.client_instance_id) as n_taken,
        count(distinct if(c.client_instance_id <> e.client_instance_id, c.client_instance_id, null)) as n_others,
        max(if(c.client_instance_id <> e.client_instance_id, c.latency_us, null)) as others_us
    from each e join calls c on c.server = e.server and c.api_key = e.api_key
    where c.ts_ns between e.first_ns and e.last_ns and coalesce(c.response_ns <= c.close_ns, true)
    group by e.client_instance_id, e.server, e.api_key
), repeated as (
    select e.client_instance_id, e.server, e.api_key
    from each e join calls c on c.client_instance_id = e.client_instance_id and c.server = e.server
        and c.api_key = e.api_key
    where c.ts_ns > e.first_ns + e.patience_ns
    group by e.client_instance_id, e.server, e.api_key
)
select each.*, coalesce(n_taken, 0) as n_taken, coalesce(n_others, 0) as n_others, others_us,
    array(each.node_id) as node_ids, if(coalesce(n_taken, 0) = 0, 'error', 'warning') as severity
from each left semi join repeated using (client_instance_id, server, api_key)
    left join compared using (client_instance_id, server, api_key)"""


_ENDS = ("close_ns", "client_ip", "server_ip", "server_port")
_CALL = ("conn_id", "api_key", "ts_ns", "response_ns", "max_wait_ms")


def _answers_come_late(tables: Tables) -> bool:
    """Whether a host closed connections to a server before enough answers of one API came, and after the time that the
    requests let the server wait."""
    closed = {conn_id: ends for conn_id, *ends in rows_of(tables["closed"], "conn_id", *_ENDS)}
    calls = tables["calls_with_answer"]
    late = calls.filter(pc.is_in(calls["conn_id"], pa.array(closed, pa.string())))
    n_late = Counter[tuple[Any, ...]]()
    for conn_id, api_key, ts_ns, response_ns, max_wait_ms in rows_of(late, *_CALL):
        close_ns, *ends = closed[conn_id]
        if response_ns > close_ns and close_ns - ts_ns > (max_wait_ms or 0) * 1_000_000:
            n_late[(*ends, api_key)] += 1
    return any(n >= limit.REFUSED_AGAIN for n in n_late.values())


def _sentence(f: Facts) -> str:
    never = "" if f.n_taken else f"; it took no answer to {f.api_name} in time meanwhile"
    others = ""
    if f.n_others and f.others_us is not None:
        waited = duration(f.others_us * 1_000)
        others = f"; {counted(f.n_others, 'other client')} waited for up to {waited}, and got theirs"
    twice = ". The broker carried out the request each time: each retry writes the records again" if _writes(f) else ""
    return (
        f"{client(f.client_id, f.client_ip)} closed {counted(f.n, 'connection')} to {node(f.node_id, f.server)} "
        f"{duration(f.patience_ns)} (median) after {f.api_name}, from {f.begin(f.first_ns)} on, and the answers came "
        f"{duration(f.took_ns)} after the requests{never}{others}{twice}"
    )


def _writes(f: Facts) -> bool:
    return bool(f.api_key == api_keys.PRODUCE)


def _advice(f: Facts) -> str:
    if f.api_key == api_keys.API_VERSIONS:
        return (
            "Clients open connections with ApiVersions, and the broker answers it late: see why it takes new "
            "connections late (a limit: max.connection.creation.rate; its network and request handler threads). Each "
            "connection that the client closes and opens again adds to those that wait; a longer pause between "
            f"attempts ({setting('reconnect_backoff', f.libraries)}) makes them fewer."
        )
    return _texts(f.libraries, f.patience_ns, f.took_ns, writes=_writes(f))


def _texts(
    libraries: Collection[str] = (),
    patience_ns: int | None = None,
    took_ns: int | None = None,
    *,
    writes: bool = True,
) -> str:
    now = "" if patience_ns is None else f" (it gives up after {duration(patience_ns)})"
    above = "" if took_ns is None else f" above the {duration(took_ns)} that the answers take"
    twice = (
        "Set enable.idempotence=true, so that what is sent again is written once; look for records that are there "
        "twice. With acks=all the broker may take so long because of its followers or its disk. "
    )
    return (
        f"The broker and the network work: raise {setting('request_timeout', libraries, defaults=True)} of the "
        f"client{now}{above}. {twice if writes else ''}Each closed connection costs another handshake, and the "
        "broker work for responses that are not read."
    )


_IN_HANDSHAKE = Where(
    CONNECTIONS,
    column("close_ns") - column("first_ns") >= limit.HANDSHAKE_PATIENCE_MS * 1_000_000,
    protocol="tls",
    close_kind=CLOSED_BY_CLIENT,
)
"""Connections with TLS that a client closed after a while."""
# One finding per address and server. A handshake that was not over shows no time of its own. `took`: how long the
# handshakes of that server took that were waited for.
_HANDSHAKES = f"""
with closed as (
    select conn_id, client_ip, concat(server_ip, ':', server_port) as server, first_ns, close_ns
    from in_handshake
    where tls_ja4 is not null and tls_handshake_us is null and tls_client_alert is null and tls_server_alert is null
        and coalesce(claimed_requests, 0) = 0
), each as (
    select client_ip, server, count(*) as n, min(first_ns) as first_ns, max(first_ns) as last_ns,
        cast(percentile(close_ns - first_ns, 0.5) as bigint) as patience_ns,
        min(close_ns - first_ns) as least_ns, max(close_ns - first_ns) as most_ns, collect_set(conn_id) as conn_ids
    from closed group by client_ip, server having count(*) >= {limit.REFUSED_AGAIN}
), took as (
    select concat(server_ip, ':', server_port) as server, count(distinct client_ip) as n_others,
        max(tls_handshake_us) as took_us, collect_set(client_ip) as hosts
    from connections where tls_handshake_us is not null and exists (select 1 from each)
    group by server_ip, server_port
)
select each.*, took_us, coalesce(n_others, 0) as n_others, cast(null as string) as client_instance_id,
    cast(null as array<string>) as evidence,
    if(array_contains(coalesce(hosts, array()), client_ip), 'warning', 'error') as severity
from each left join took using (server)
where most_ns - least_ns <= patience_ns / 2"""


def _handshake_sentence(f: Facts) -> str:
    took = ""
    if f.took_us is not None:
        took = f"; where it was waited for, that took up to {duration(f.took_us * 1_000)}"
    return (
        f"{f.client_ip} closed {counted(f.n, 'connection')} to {f.server} itself {duration(f.patience_ns)} (median) "
        f"after it had opened them, from {f.begin(f.first_ns)} on, before the TLS handshake was over{took}"
    )


def _handshake_advice(f: Facts) -> str:
    above = "" if f.took_us is None else f" above the {duration(f.took_us * 1_000)} that handshakes take"
    return (
        f"Raise the time in which this client has to connect{above}: connectionTimeout of kafkajs (default 1000 ms, "
        "with TLS in it), socket.connection.setup.timeout.ms of Java and librdkafka. The certificates are not the "
        "cause. The server may take so long because of many new connections at once, its processor, or a limit of "
        "new connections a second (max.connection.creation.rate)."
    )


RULE = Rule(
    name="gave_up_too_soon",
    title="A client closes connections before the answers come",
    severity="error",
    meaning="The client has a timeout that is shorter than the broker needs. It drops the connection, and sends the "
    "same again on the next; the broker does what was asked for each time, and its answers meet closed connections. "
    "The client's log says that the broker does not answer, which is not so.",
    looks_at=f"Connections that the client ended while a request was on its way, whose answer the server sent "
    f"afterwards: {limit.REFUSED_AGAIN} times or more for a client, a server and an API, where a later request asks "
    "for the same. What a request allows the broker to wait (max_wait_ms of Fetch) is left out. An error where the "
    "client took no answer in time. Likewise connections with TLS that an address closed before their handshake was "
    "over, each after about the same time. A client that is stopped, and one that rebalances, closes connections so "
    "once.",
    advice=_texts(),
    sources=("org.apache.kafka.clients.NetworkClient#handleTimedOutRequests", "KIP-19", "KIP-98"),
    detectors=(
        Detector(
            reads={
                "closed": _CLOSED,
                "often": Groups(_CLOSED, per=("client_ip", "server_ip"), having=count() >= limit.REFUSED_AGAIN),
                "calls_with_answer": Where(REQUESTS, status="ok", ts_ns=NOT_NULL, response_ns=NOT_NULL),
            },
            candidates=Candidates({"closed": ("conn_id", *_ENDS), "calls_with_answer": _CALL}, _answers_come_late),
            query=_QUERY,
            subject=lambda f: f"{f.api_name} {f.server}",
            sentence=_sentence,
            advice=_advice,
        ),
        Detector(
            reads={
                "in_handshake": _IN_HANDSHAKE,
                "in_handshakes": Groups(
                    _IN_HANDSHAKE, per=("client_ip", "server_ip"), having=count() >= limit.REFUSED_AGAIN
                ),
            },
            query=_HANDSHAKES,
            subject=lambda f: f"TLS {f.server}",
            sentence=_handshake_sentence,
            advice=_handshake_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"replication"}),
)
