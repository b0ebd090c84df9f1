"""`cut_while_waiting`: a device closes connections on which a Fetch waits, each after the same time."""

from collections import defaultdict
from collections.abc import Sequence

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import at_least, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, duration, node
from kafkascope_spark.stories.settings import setting

_CLOSE = ("conn_id", "close_ns", "server_ip", "server_port")
_CLOSED_BY_SERVER = Where(CONNECTIONS, close_kind=CLOSED_BY_SERVER)
# One finding per client and server. A broker ends connections for other reasons at any time; the same length of silence
# each time shows a timer.
_QUERY = f"""
with cut as (
    select w.request_id, w.conn_id, w.ts_ns, w.max_wait_ms, o.close_ns - w.ts_ns as silent_ns, o.server, o.node_id,
        o.client_instance_id, o.client_id, o.client_ip, o.software_name
    from waiting w join owned_connections o on o.conn_id = w.conn_id
    where o.close_kind in {literals(CLOSED_BY_SERVER)} and {NO_BROKER}
        and o.close_ns - w.ts_ns between {limit.CUT_AFTER_MS} * 1000000L
            and cast(w.max_wait_ms as bigint) * 1000000 - 1
)
select client_id, client_ip, software_name, server, max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns,
    max(ts_ns + silent_ns) as last_ns, cast(percentile(silent_ns, 0.5) as bigint) as silent_ns,
    max(max_wait_ms) as max_wait_ms, {first_ids()} as evidence, array_sort(collect_set(conn_id)) as conn_ids,
    if(count(distinct client_instance_id) = 1, min(client_instance_id), null) as client_instance_id
from cut group by client_id, client_ip, software_name, server
having count(*) >= {limit.REFUSED_AGAIN} and max(silent_ns) - min(silent_ns) <= {limit.CUT_SPREAD_MS} * 1000000L"""


def _is_cut_again(tables: Tables) -> bool:
    """Whether a server ended enough connections after the same silence, while a Fetch waited."""
    closed = {
        conn: rest for conn, *rest in rows_of(tables["closed"], "conn_id", "close_ns", "server_ip", "server_port")
    }
    silences = defaultdict(list)
    for conn_id, ts_ns, max_wait_ms in rows_of(tables["waiting"], "conn_id", "ts_ns", "max_wait_ms"):
        close_ns, *server = closed.get(conn_id, (None,))
        if close_ns is not None and limit.CUT_AFTER_MS * 1_000_000 <= close_ns - ts_ns < max_wait_ms * 1_000_000:
            silences[tuple(server)].append(close_ns - ts_ns)
    return any(map(_are_alike, map(sorted, silences.values())))


def _are_alike(silences_ns: Sequence[int]) -> bool:
    """Whether enough of these ascending times lie close together."""
    last = silences_ns[limit.REFUSED_AGAIN - 1 :]
    return any(b - a <= limit.CUT_SPREAD_MS * 1_000_000 for a, b in zip(silences_ns, last, strict=False))


def _sentence(f: Facts) -> str:
    return (
        f"{counted(f.n, 'connection')} of {client(f.client_id, f.client_ip)} to {node(f.node_id, f.server)} were "
        f"closed from the server's side, from {f.begin(f.first_ns)} on, each {duration(f.silent_ns)} after a Fetch "
        f"that may wait for {f.max_wait_ms} ms, when nothing had been sent since"
    )


def _advice(f: Facts) -> str:
    wait = setting("fetch_wait", f.libraries) or "the longest wait of Fetch"
    return (
        "The same time each time is the timeout of something between the two, as a load balancer or a proxy "
        f"(timeout client and timeout server of HAProxy): let {wait}, now {f.max_wait_ms} ms, be far below "
        f"{duration(f.silent_ns)}, or raise that timeout. The broker and the client are not the cause, and no record "
        "is lost: the client connects again and asks for the same offset."
    )


RULE = Rule(
    name="cut_while_waiting",
    title="Connections are closed while a Fetch waits for records",
    severity="warning",
    meaning="On a quiet topic a Fetch waits in the broker, and no byte goes either way. A device that ends connections "
    "for being idle takes that for the end; the consumer connects again and again.",
    looks_at="Connections that ended from the server's side while a Fetch had no answer, before its max_wait_ms was "
    f"over and {limit.CUT_AFTER_MS // 1000} s or more after it, {limit.REFUSED_AGAIN} times or more for one program "
    f"and server, within {limit.CUT_SPREAD_MS} ms of the same time.",
    advice="Let Fetch wait for less than the device's timeout (fetch.max.wait.ms), or raise that.",
    sources=("fetch.max.wait.ms of the consumer settings",),
    detectors=(
        Detector(
            reads={
                "waiting": Where(
                    REQUESTS, api_key=api_keys.FETCH, status="unanswered", max_wait_ms=at_least(limit.CUT_AFTER_MS)
                ),
                "closed": _CLOSED_BY_SERVER,
                "closed_by_server": Groups(
                    _CLOSED_BY_SERVER, per=("server_ip",), having=count() >= limit.REFUSED_AGAIN
                ),
            },
            candidates=Candidates(
                {
                    "closed": _CLOSE,
                    "waiting": ("conn_id", "ts_ns", "max_wait_ms"),
                },
                _is_cut_again,
            ),
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES),
)
