"""`abandoned_responses`: a client closes connections in the middle of responses, again and again."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import CONNECTIONS, UNDECODED
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import COUNT, N_ROWS, Candidates, Tables, most_rows
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, counted, duration, node, size
from kafkascope_spark.stories.settings import setting, settings

_BEGUN = Where(UNDECODED, direction="response", reason="connection_end")
_CLOSED = Where(CONNECTIONS, close_kind=CLOSED_BY_CLIENT)
_ENDS = ("client_ip", "server_ip", "server_port")
# One finding per client, server and API. A response that was cut off by the end of its connection has the length in its
# first bytes; it was in flight when the client closed the connection.
_QUERY = f"""
with cut as (
    select r.request_id, r.conn_id, r.api_name, r.ts_ns, r.response_ns, r.response_bytes, b.bytes as taken_bytes,
        concat(c.server_ip, ':', c.server_port) as server, c.node_id, c.close_ns - r.response_ns as patience_ns
    from requests r join begun b on r.conn_id = b.conn_id and r.response_ns = b.ts_ns
        join closed c on r.conn_id = c.conn_id
    where r.status = 'undecoded' and c.close_ns >= r.response_ns
), each as (
    select client_instance_id, client_id, client_ip, software_name, server, node_id, api_name, count(*) as n,
        min(ts_ns) as first_ns, max(ts_ns) as last_ns, min(response_bytes) as least_bytes,
        max(response_bytes) as most_bytes, cast(percentile(taken_bytes, 0.5) as bigint) as taken_bytes,
        cast(percentile(patience_ns, 0.5) as bigint) as patience_ns, {first_ids()} as evidence,
        array_sort(collect_set(conn_id)) as conn_ids
    from cut join connection_clients using (conn_id)
    where {NO_BROKER}
    group by client_instance_id, client_id, client_ip, software_name, server, node_id, api_name
    having count(*) >= {limit.ABANDONED_RESPONSES}
), taken as (
    select e.client_instance_id, e.api_name, e.server, count(*) as n_taken
    from each e join connection_clients c using (client_instance_id)
        join requests r on r.conn_id = c.conn_id and r.api_name = e.api_name
    where r.status = 'ok' and r.ts_ns between e.first_ns and e.last_ns
    group by e.client_instance_id, e.api_name, e.server
)
select each.*, coalesce(n_taken, 0) as n_taken, if(coalesce(n_taken, 0) = 0, 'error', 'warning') as severity
from each left join taken using (client_instance_id, api_name, server)"""


def _host_repeats(tables: Tables) -> bool:
    """Whether a client's host cut off enough responses of a server for a finding."""
    n = most_rows(tables["begun_on_connection"], tables["closed_connections"], *_ENDS)
    return n >= limit.ABANDONED_RESPONSES


def _sentence(f: Facts) -> str:
    sizes = size(f.most_bytes) if f.least_bytes == f.most_bytes else f"{size(f.least_bytes)} to {size(f.most_bytes)}"
    so_far = "" if f.n_taken else f"; it took no other response to {f.api_name} meanwhile"
    return (
        f"{client(f.client_id, f.client_ip)} closed {counted(f.n, 'connection')} to {node(f.node_id, f.server)} in "
        f"the middle of a response to {f.api_name}, from {f.begin(f.first_ns)} to {f.at(f.last_ns)}: {_how(f)}. The "
        f"responses have {sizes}{so_far}. Then it sent the same request again"
    )


def _is_patient(f: Facts) -> bool:
    """Whether the client received bytes for as long as a timeout, and did not close as soon as it knew the length."""
    return bool(f.patience_ns >= limit.PATIENCE_S * 1_000_000_000)


def _how(f: Facts) -> str:
    if not _is_patient(f):
        return f"within {duration(max(f.patience_ns, 1_000_000))} of its first byte, which names its length"
    rate = f.taken_bytes * 1_000_000_000 // f.patience_ns
    return f"after {duration(f.patience_ns)}, while bytes still arrived ({size(f.taken_bytes)}, {size(rate)} a second)"


def _advice(f: Facts) -> str:
    return _slow(f.libraries) if _is_patient(f) else _too_large(f.libraries)


def _too_large(libraries: Collection[str]) -> str:
    return (
        "The broker and the network are not the cause: the client does not take responses of that size. Raise its "
        "limit (librdkafka: receive.message.max.bytes, which has to be above fetch.max.bytes by 512 and above the "
        f"largest batch of the topic), or let it ask for less at once ({setting('fetch_max', libraries)}; the first "
        "batch comes whole, however large it is)."
    )


def _slow(libraries: Collection[str]) -> str:
    return (
        "The broker answers; the way to the client is too slow for so much at once. Let the client ask for less "
        f"({setting('fetch_max', libraries)}, and the limit for each partition), or wait longer "
        f"({settings(('request_timeout',), libraries, defaults=True)}); see what limits the rate: the network between "
        "the two, a limit of its host, or a quota."
    )


RULE = Rule(
    name="abandoned_responses",
    title="A client closes connections in the middle of responses",
    severity="error",
    meaning="A client that does not read a response to its end gets nothing of it, and sends the same request again: a "
    "consumer reads nothing as long as that lasts, while the brokers work normally.",
    looks_at=f"Responses that the end of their connection cut off, {limit.ABANDONED_RESPONSES} times or more for a "
    "client, a server and an API, where the client closed the connection. One that closes it at once has a limit for "
    f"the size of responses; one that closes it after {limit.PATIENCE_S} s or more, while bytes arrive, a timeout.",
    advice=f"{_too_large(())} {_slow(())}",
    sources=("receive.message.max.bytes and socket.timeout.ms of librdkafka", "KIP-74", "NetworkReceive"),
    detectors=(
        Detector(
            reads={
                "begun": _BEGUN,
                "closed": _CLOSED,
                "begun_on_connection": Groups(_BEGUN, per=("conn_id",), having=COUNT >= 1),
                "closed_connections": Groups(_CLOSED, per=("conn_id", *_ENDS)),
            },
            candidates=Candidates(
                {"begun_on_connection": ("conn_id", N_ROWS), "closed_connections": ("conn_id", *_ENDS)},
                _host_repeats,
            ),
            query=_QUERY,
            subject=lambda f: f"{f.api_name} {f.server}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
