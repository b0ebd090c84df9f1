"""`zero_window`: a client does not read its connection in time, so that its receive window closes again and again."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import TCP_EVENTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.wording import client, counted, duration, node
from kafkascope_spark.stories.settings import settings

_ANSWERED = "client_instance_id, client_id, client_ip, software_name, server"
# One finding per client and server. `closed`: the times from a segment that closes the client's window to the one that
# opens it. A window that a connection leaves closed has no end, and does not count.
_QUERY = f"""
with marks as (
    select conn_id, ts_ns, event,
        lead(struct(ts_ns, event)) over (partition by conn_id order by ts_ns, packet_no) as next
    from windows
), closed as (
    select conn_id, ts_ns, next.ts_ns as open_ns, next.ts_ns - ts_ns as closed_ns
    from marks where event = 'zero_window' and next.event = 'window_open'
), each as (
    select {_ANSWERED}, max(node_id) as node_id, count(*) as n, min(ts_ns) as first_ns, max(open_ns) as last_ns,
        coalesce(try_sum(closed_ns), 0) as closed_ns, cast(percentile(closed_ns, 0.5) as bigint) as usual_ns,
        collect_set(conn_id) as conn_ids
    from closed join owned_connections using (conn_id)
    where {NO_BROKER}
    group by {_ANSWERED}
)
select *, cast(null as array<string>) as evidence, array(node_id) as node_ids from each
where n >= {limit.CLOSED_WINDOWS} and closed_ns >= {limit.CLOSED_WINDOW_MS} * 1e6
    and closed_ns >= {limit.CLOSED_WINDOW_SHARE} * (last_ns - first_ns)"""


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} closed its receive window to {node(f.node_id, f.server)} "
        f"{counted(f.n, 'time')} from {f.begin(f.first_ns)} to {f.at(f.last_ns)}, for {duration(f.usual_ns)} each "
        f"(median) and {duration(f.closed_ns)} in all: it did not read what it had asked for, and the server waited"
    )


def _advice(libraries: Collection[str]) -> str:
    return (
        "The network and the broker are not slow: the client's process reads its socket late. See what keeps it from "
        "that (records that are handled in the thread that polls, garbage collection, too little processor time), or "
        "whether its buffers are smaller than what it asks for with one Fetch: "
        f"{settings(('fetch_max',), libraries)} and receive.buffer.bytes. A window that closes while a consumer "
        "handles records does no harm where it keeps up."
    )


RULE = Rule(
    name="zero_window",
    title="A client does not read its connection in time",
    severity="warning",
    meaning="The receive window of the client is closed: it has not read what the server sent, and the server may send "
    "nothing more. Responses take longer for that, and look like those of a slow broker or network.",
    looks_at=f"Segments of a client with a receive window of zero, and those that open it again: "
    f"{limit.CLOSED_WINDOWS} times or more for a client and a server, {limit.CLOSED_WINDOW_MS // 1000} s or more in "
    f"all, and at least {limit.CLOSED_WINDOW_SHARE:.0%} of the time from the first to the last. A window that closes "
    "once, as when a process is paused, is part of an incident.",
    advice=_advice(()),
    sources=("RFC 9293, section 3.8.6", "receive.buffer.bytes of the consumer settings"),
    detectors=(
        Detector(
            reads={
                "windows": Where(TCP_EVENTS, event=("zero_window", "window_open"), side="client"),
                "often": Groups(
                    Where(TCP_EVENTS, event="zero_window", side="client"),
                    per=("conn_id",),
                    having=count() >= 2,
                ),
            },
            query=_QUERY,
            subject=lambda f: f.server,
            sentence=_sentence,
            advice=lambda f: _advice(f.libraries),
        ),
    ),
)
