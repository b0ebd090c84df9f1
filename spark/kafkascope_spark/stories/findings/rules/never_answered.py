"""`never_answered`: a server never answers a client's requests of one API, but answers its other requests."""

from collections import Counter, defaultdict
from typing import Any

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import COUNT, N_ROWS, Candidates, Tables, most_rows, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, none_of, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, node, times

_WAITS_FOR_MEMBERS = ("JoinGroup", "SyncGroup")
"""Requests that a coordinator answers when the other members have joined."""
_UNANSWERED = Where(REQUESTS, status="unanswered", api_name=none_of(*_WAITS_FOR_MEMBERS))
_CLOSED = Where(CONNECTIONS, close_kind=CLOSED_BY_CLIENT)
_FIRST_NS = smallest("ts_ns")
_ANSWERED = Where(USAGE, status="ok", api_name=none_of("ApiVersions", "SaslHandshake", "SaslAuthenticate"))
_ENDS = ("client_ip", "server_ip", "server_port")
_CLOSED_CONNECTION = ("conn_id", *_ENDS, "close_ns")
_WAITING = ("conn_id", "api_name", "ts_ns", "max_wait_ms")
# One finding per client, server and API. The connection must have had responses to other requests before: a frozen or
# unreachable broker answers none.
_QUERY = f"""
with waiting as (
    select u.request_id, u.conn_id, u.api_name, u.ts_ns, c.close_ns - u.ts_ns as waited_ns,
        concat(c.server_ip, ':', c.server_port) as server, c.node_id
    from unanswered u join closed c using (conn_id)
    where c.close_ns - u.ts_ns >= (cast(coalesce(u.max_wait_ms, 0) as bigint) + {limit.PATIENCE_MS}) * 1000000
), answered as (
    select conn_id, count(*) as n_answered, collect_set(api_name) as api_names
    from requests left semi join waiting using (conn_id)
    where status = 'ok' and api_name not in ('ApiVersions', 'SaslHandshake', 'SaslAuthenticate')
    group by conn_id
), each as (
    select client_instance_id, client_id, client_ip, software_name, server, node_id, w.api_name, count(*) as n,
        min(w.ts_ns) as first_ns, max(w.ts_ns + waited_ns) as last_ns, min(waited_ns) as waited_ns,
        sum(n_answered) as n_others, {first_ids()} as evidence, array_sort(collect_set(w.conn_id)) as conn_ids
    from waiting w join answered a on w.conn_id = a.conn_id and not array_contains(a.api_names, w.api_name)
        join connection_clients cc on w.conn_id = cc.conn_id
    where {NO_BROKER}
    group by client_instance_id, client_id, client_ip, software_name, server, node_id, w.api_name
    having count(*) >= {limit.NEVER_ANSWERED}
), served as (
    select distinct e.client_instance_id, e.api_name, e.server
    from each e join connection_clients c using (client_instance_id)
        join requests r on r.conn_id = c.conn_id and r.api_name = e.api_name
    where r.status = 'ok' and r.ts_ns between e.first_ns and e.last_ns
)
select each.* from each left anti join served using (client_instance_id, api_name, server)"""


def _host_waits_again(tables: Tables) -> bool:
    """Whether a client's host has enough unanswered requests of an API to a server for a finding."""
    closed, unanswered = tables["closed_connections"], tables["unanswered_on_connection"]
    first = unanswered.join(closed, "conn_id", join_type="inner", use_threads=False)
    waited_ns = pc.subtract(first["close_ns"], first[str(_FIRST_NS)])
    waited = first.filter(pc.greater_equal(waited_ns, limit.PATIENCE_MS * 1_000_000))
    return most_rows(waited.select(unanswered.column_names), closed, *_ENDS, "api_name") >= limit.NEVER_ANSWERED


def _other_requests_are_answered(tables: Tables) -> bool:
    """Whether the same holds of unanswered requests whose connection had responses to other APIs, and none to this one.
    A request may wait for PATIENCE_MS more than the client lets the server wait."""
    closed = {conn_id: ends for conn_id, *ends in rows_of(tables["closed_connections"], *_CLOSED_CONNECTION)}
    answered = defaultdict(set)
    for conn_id, api_name in rows_of(tables["answered_on_connection"], "conn_id", "api_name"):
        answered[conn_id].add(api_name)
    n_waiting = Counter[tuple[Any, ...]]()
    for conn_id, api_name, ts_ns, max_wait_ms in rows_of(tables["unanswered"], *_WAITING):
        if conn_id not in closed or not answered[conn_id] or api_name in answered[conn_id]:
            continue
        *ends, close_ns = closed[conn_id]
        if None not in (close_ns, ts_ns) and close_ns - ts_ns >= ((max_wait_ms or 0) + limit.PATIENCE_MS) * 1_000_000:
            n_waiting[(*ends, api_name)] += 1
    return any(n >= limit.NEVER_ANSWERED for n in n_waiting.values())


def _sentence(f: Facts) -> str:
    return (
        f"{node(f.node_id, f.server)} never answered {f.api_name} of {client(f.client_id, f.client_ip)}, sent "
        f"{times(f.n)} from {f.begin(f.first_ns)} to {f.at(f.last_ns)}, while it answered "
        f"{counted(f.n_others, 'other request')} on the same connections. The client waited for "
        f"{duration(f.waited_ns)} or longer each time, closed the connection and began again"
    )


def _advice(f: Facts) -> str:
    return (
        f"The client and the network are not the cause. Look in the log of {node(f.node_id, f.server)} for what "
        f"became of {f.api_name}: an exception in its handler, or storage that does not respond; and at a proxy "
        "between the two, or a server that is not Apache Kafka and does not implement it. Longer timeouts do not "
        "help."
    )


RULE = Rule(
    name="never_answered",
    title="A server never answers one kind of request",
    severity="error",
    meaning="A server that holds a request for ever blocks its connection: the client gives up after its timeout, "
    "connects and asks for the same again. A consumer whose Fetch is never answered reads nothing, though Metadata and "
    "ListOffsets look right.",
    looks_at="Requests without a response on connections that the client closed "
    f"{limit.PATIENCE_MS / 1000:g} s or more after the request's own max_wait_ms, {limit.NEVER_ANSWERED} times or more "
    "for a client, a server and an API, where the connections carried answers to other requests, and the client got "
    "none to that API meanwhile. JoinGroup and SyncGroup, which wait for members, are left out.",
    advice="Look at what the server does with these requests, and at a proxy in front of it.",
    sources=("Kafka protocol guide: Network", "request.timeout.ms of the client settings"),
    detectors=(
        Detector(
            reads={
                "unanswered": _UNANSWERED,
                "closed": _CLOSED,
                "unanswered_on_connection": Groups(
                    _UNANSWERED, per=("conn_id", "api_name"), having=all_of(COUNT >= 1, NOT_NULL(_FIRST_NS))
                ),
                "closed_connections": Groups(_CLOSED, per=_CLOSED_CONNECTION),
                "answered_on_connection": _ANSWERED,
            },
            candidates=Candidates(
                {
                    "unanswered_on_connection": ("conn_id", "api_name", N_ROWS, str(_FIRST_NS)),
                    "closed_connections": _CLOSED_CONNECTION,
                },
                _host_waits_again,
                then=Candidates(
                    {
                        "unanswered": _WAITING,
                        "closed_connections": _CLOSED_CONNECTION,
                        "answered_on_connection": ("conn_id", "api_name"),
                    },
                    _other_requests_are_answered,
                ),
            ),
            query=_QUERY,
            subject=lambda f: f"{f.api_name} {f.server}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
