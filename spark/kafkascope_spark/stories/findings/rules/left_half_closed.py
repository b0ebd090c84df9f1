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
# host did not acknowledge: then the host or the path is gone.
_QUERY = f"""
with until as (
    select max(last_ns) as until_ns from captures
), closed as (
    select distinct conn_id from ends where side = 'client' or event = 'rst'
), ended as (
    select o.* from server_closed s join owned_connections o on o.conn_id = s.conn_id
        left anti join closed c on c.conn_id = s.conn_id
), open as (
    select * from ended cross join until
    where until_ns - last_ns >= {limit.HALF_CLOSED_MS}000000L and last_ns - close_ns < {limit.FIN_REPEATED_MS}000000L
)
select if(count(distinct client_instance_id) > 1, null, min(client_instance_id)) as client_instance_id,
    min(client_id) as client_id, from_ip as client_ip, server, max(node_id) as node_id, count(*) as n,
    min(close_ns) as first_ns, max(close_ns) as last_ns, max(until_ns) as until_ns,
    cast(null as array<string>) as evidence, {first_ids("conn_id", "close_ns")} as conn_ids
from open
group by from_ip, server
having count(*) >= {limit.HALF_CLOSED}"""


def _some_stay(tables: Tables) -> bool:
    """Whether a host has enough connections to a server of which only the server's end was seen, long before the end
    of the capture."""
    rows = rows_of(tables["ended"], "conn_id", "side", "event")
    closed = {conn_id for conn_id, side, event in rows if side == "client" or event == "rst"}
    until_ns = max((each or 0 for (each,) in rows_of(tables["until"], str(_LAST))), default=0)
    stays: Counter[tuple[str, str]] = Counter()
    names = ("conn_id", "client_ip", "server_ip", "last_ns")
    for conn_id, client_ip, server_ip, last_ns in rows_of(tables["server_closed"], *names):
        if conn_id not in closed and until_ns - last_ns >= limit.HALF_CLOSED_MS * 1_000_000:
            stays[client_ip, server_ip] += 1
    return any(n >= limit.HALF_CLOSED for n in stays.values())


def _who(f: Facts) -> str:
    return str(f.client_ip) if f.client_instance_id is None or not f.client_id else f"{f.client_id} ({f.client_ip})"


def _sentence(f: Facts) -> str:
    return (
        f"{_who(f)} did not close {counted(f.n, 'connection')} that {f.server} had ended with a FIN, the first at "
        f"{f.begin(f.first_ns)}, the last at {f.at(f.last_ns)}: the capture goes on for "
        f"{duration(f.until_ns - f.last_ns)} after that, without a FIN or RST of the client"
    )


RULE = Rule(
    name="left_half_closed",
    title="A client does not close connections that the server has ended",
    severity="warning",
    meaning="A connection that only one side has closed stays in CLOSE_WAIT on the client's host, and keeps a socket "
    "and a file descriptor, until the process ends. A client that loses track of its connections so runs out of "
    "descriptors or ports after hours or days, and a thread that still waits on such a socket waits for ever.",
    looks_at=f"{limit.HALF_CLOSED} or more connections of a host to one server, which the server ended with a FIN "
    f"and the client did not end by a FIN or RST for {limit.HALF_CLOSED_MS // 1000} s or longer. A single one may be "
    "closed when it is used next.",
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
                    "server_closed": ("conn_id", "client_ip", "server_ip", "last_ns"),
                    "ended": ("conn_id", "side", "event"),
                    "until": (str(_LAST),),
                },
                _some_stay,
            ),
            query=_QUERY,
            subject=lambda f: str(f.server),
            sentence=_sentence,
        ),
    ),
)
