"""`left_half_closed`: a client does not close connections that the server has ended (CLOSE_WAIT)."""

from collections import Counter

from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, TCP_EVENTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, largest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import counted, duration

_LAST = largest("last_ns")
_ENDS = Where(TCP_EVENTS, event=("fin", "rst"))
# One finding per client host and server address. `ended`: connections that the server closed with a FIN, and on which
# neither the client's FIN nor a RST followed, although the capture goes on. A server repeats a FIN that the client's
# host did not acknowledge: then the host or the path is gone. `is_missed`: the connection was in use, and its host
# opened no other one to that server since; `is_silent`: its client sent nothing to any server since.
_QUERY = f"""
with until as (
    select max(last_ns) as until_ns from captures
), closed as (
    select distinct conn_id from ends where side = 'client' or event = 'rst'
), ended as (
    select o.*, s.idle_before_close_ms from server_closed s join owned_connections o on o.conn_id = s.conn_id
        left anti join closed c on c.conn_id = s.conn_id
), opened as (
    select from_ip, server, max(first_ns) as opened_ns from owned_connections group by from_ip, server
), heard as (
    select client_instance_id, max(last_ns) as heard_ns from owned_connections
    where n_requests > 0 group by client_instance_id
), open as (
    select *, opened_ns <= close_ns and n_requests >= {limit.IN_USE_REQUESTS}
            and idle_before_close_ms < {limit.IN_USE_MS} as is_missed,
        coalesce(heard_ns < close_ns + {limit.FIN_REPEATED_MS}000000L, false) as is_silent
    from ended cross join until join opened using (from_ip, server) left join heard using (client_instance_id)
    where until_ns - last_ns >= {limit.HALF_CLOSED_MS}000000L and last_ns - close_ns < {limit.FIN_REPEATED_MS}000000L
)
select if(count(distinct client_instance_id) > 1, null, min(client_instance_id)) as client_instance_id,
    min(client_id) as client_id, coalesce(bool_or(is_missed), false) as is_missed,
    coalesce(bool_and(is_silent), false) as is_silent,
    if(bool_or(is_missed and is_silent), 'error', 'warning') as severity,
    from_ip as client_ip, server, max(node_id) as node_id, count(*) as n,
    min(close_ns) as first_ns, max(close_ns) as last_ns, max(until_ns) as until_ns,
    cast(null as array<string>) as evidence, {first_ids("conn_id", "close_ns")} as conn_ids
from open
group by from_ip, server
having count(*) >= {limit.HALF_CLOSED} or bool_or(is_missed)"""


def _some_stay(tables: Tables) -> bool:
    """Whether a host has enough connections to a server of which only the server's end was seen, long before the end
    of the capture; or one that was in use."""
    rows = rows_of(tables["ended"], "conn_id", "side", "event")
    closed = {conn_id for conn_id, side, event in rows if side == "client" or event == "rst"}
    until_ns = max((each or 0 for (each,) in rows_of(tables["until"], str(_LAST))), default=0)
    stays: Counter[tuple[str, str]] = Counter()
    names = ("conn_id", "client_ip", "server_ip", "last_ns", "n_requests", "idle_before_close_ms")
    for conn_id, client_ip, server_ip, last_ns, n_requests, idle_ms in rows_of(tables["server_closed"], *names):
        if conn_id not in closed and until_ns - last_ns >= limit.HALF_CLOSED_MS * 1_000_000:
            is_in_use = n_requests >= limit.IN_USE_REQUESTS and idle_ms is not None and idle_ms < limit.IN_USE_MS
            stays[client_ip, server_ip] += limit.HALF_CLOSED if is_in_use else 1
    return any(n >= limit.HALF_CLOSED for n in stays.values())


def _who(f: Facts) -> str:
    return str(f.client_ip) if f.client_instance_id is None or not f.client_id else f"{f.client_id} ({f.client_ip})"


def _sentence(f: Facts) -> str:
    if f.is_missed and f.n == 1:
        where = "any server" if f.is_silent else str(f.server)
        return (
            f"{_who(f)} did not close its connection to {f.server}, which the server ended with a FIN at "
            f"{f.begin(f.first_ns)} while the client used it, and sent nothing to {where} since: the capture goes on "
            f"for {duration(f.until_ns - f.last_ns)} without a FIN or RST of the client, or another connection of it"
        )
    return (
        f"{_who(f)} did not close {counted(f.n, 'connection')} that {f.server} had ended with a FIN, the first at "
        f"{f.begin(f.first_ns)}, the last at {f.at(f.last_ns)}: the capture goes on for "
        f"{duration(f.until_ns - f.last_ns)} after that, without a FIN or RST of the client"
    )


def _advice(f: Facts) -> str:
    return f"{_HANGS} {RULE.advice}" if f.is_missed and f.is_silent else RULE.advice


_HANGS = (
    "This client does no work any more: take a stack trace of it (a thread that waits on that socket waits for ever), "
    "and restart it."
)
RULE = Rule(
    name="left_half_closed",
    title="A client does not close connections that the server has ended",
    severity="error",
    meaning="A connection that only one side has closed stays in CLOSE_WAIT on the client's host, and keeps a socket "
    "and a file descriptor, until the process ends. A client that loses track of its connections so runs out of "
    "descriptors or ports after hours or days, and a thread that still waits on such a socket waits for ever.",
    looks_at=f"{limit.HALF_CLOSED} or more connections of a host to one server, which the server ended with a FIN "
    f"and the client did not end by a FIN or RST for {limit.HALF_CLOSED_MS // 1000} s or longer. Or a single one that "
    f"was in use ({limit.IN_USE_REQUESTS} requests or more, the last less than {limit.IN_USE_MS // 1000} s before the "
    "FIN), where the host opened no other connection to the server since; an idle one may be closed when it is used "
    "next. error: the client that used it sent nothing to any server since.",
    advice="Count the sockets in CLOSE_WAIT on that host (ss -tan state close-wait). Update the client's library; see "
    "whether its application makes clients that it never closes, and call close() on them. Restart it before it runs "
    "out of descriptors. The server is not the cause: brokers end connections that were idle for "
    "connections.max.idle.ms (default 10 min), and those that they hold when they stop.",
    sources=("RFC 9293, section 3.6", "connections.max.idle.ms of the broker settings"),
    detectors=(
        Detector(
            reads={
                "server_closed": Where(CONNECTIONS, close_kind="fin_server", close_ns=NOT_NULL, client_bytes=above(0)),
                "ends": _ENDS,
                "ended": Groups(_ENDS, per=("conn_id", "side", "event")),
                "until": Groups(Where(CAPTURES), having=_LAST >= 0),
            },
            candidates=Candidates(
                {
                    "server_closed": (
                        *("conn_id", "client_ip", "server_ip", "last_ns"),
                        *("n_requests", "idle_before_close_ms"),
                    ),
                    "ended": ("conn_id", "side", "event"),
                    "until": (str(_LAST),),
                },
                _some_stay,
            ),
            query=_QUERY,
            subject=lambda f: str(f.server),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
