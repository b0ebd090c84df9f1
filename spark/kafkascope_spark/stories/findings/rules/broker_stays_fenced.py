"""`broker_stays_fenced`: a broker is registered, and controllers keep it fenced, so that it serves nobody."""

from collections import defaultdict

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import all_of, count, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import BROKER_HEARTBEAT_REQUESTS, BROKER_HEARTBEAT_RESPONSES
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import duration, times

_HEARTBEATS = Where(REQUESTS, api_name="BrokerHeartbeat", status="ok", error_code=0)
# One finding a broker: its heartbeats since the last that was answered as not fenced, to the end of the capture.
_QUERY = f"""
with beats as (
    select h.request_id, h.ts_ns, h.conn_id, h.client_ip, q.broker_id, q.current_metadata_offset as at_offset,
        a.is_fenced, a.is_caught_up
    from heartbeats h join broker_heartbeat_requests q using (request_id)
        join broker_heartbeat_responses a using (request_id)
    where not q.want_shut_down
), served as (
    select broker_id, max(ts_ns) as served_ns from beats where not is_fenced group by broker_id
), last_offset as (
    select max(at_offset) as highest from beats
)
select b.broker_id, max(b.client_ip) as client_ip, count(*) as n, min(b.ts_ns) as first_ns, max(b.ts_ns) as last_ns,
    min(at_offset) as from_offset, max(at_offset) as to_offset, max(l.highest) as highest,
    bool_or(is_caught_up) as is_caught_up, {first_ids("b.request_id", "b.ts_ns")} as evidence,
    collect_set(b.conn_id) as conn_ids, cast(null as string) as client_instance_id
from beats b left join served s on b.broker_id = s.broker_id cross join last_offset l
where b.is_fenced and b.ts_ns > coalesce(s.served_ns, 0)
group by b.broker_id
having count(*) >= {limit.FENCED_BEATS} and max(b.ts_ns) - min(b.ts_ns) >= {limit.FENCED_S} * 1000000000L"""


def _stays_fenced(tables: Tables) -> bool:
    """Whether a broker was fenced for long enough since the last response that was not fenced."""
    beats = tables["heartbeats"]
    for name in ("named", "answered"):
        beats = beats.join(tables[name], "request_id", join_type="inner", use_threads=False)
    served = beats.filter(pc.invert(beats["is_fenced"])).group_by("broker_id", use_threads=False)
    served_ns = dict(rows_of(served.aggregate([("ts_ns", "max")]), "broker_id", "ts_ns_max"))
    fenced = defaultdict(list)
    for broker_id, ts_ns in rows_of(beats.filter(beats["is_fenced"]), "broker_id", "ts_ns"):
        if ts_ns > served_ns.get(broker_id, 0):
            fenced[broker_id].append(ts_ns)
    return any(
        len(times_ns) >= limit.FENCED_BEATS and max(times_ns) - min(times_ns) >= limit.FENCED_S * 1_000_000_000
        for times_ns in fenced.values()
    )


def _sentence(f: Facts) -> str:
    moved = "did not move" if f.from_offset == f.to_offset else f"went from {f.from_offset} to {f.to_offset}"
    others = f", while another broker was at {f.highest}" if f.highest > f.to_offset else ""
    return (
        f"Broker {f.broker_id} ({f.client_ip}) stayed fenced for {duration(f.last_ns - f.first_ns)} from "
        f"{f.begin(f.first_ns)} on: controllers answered its heartbeat {times(f.n)}, and did not let it serve clients. "
        f"The offset of the metadata log that it had read {moved}{others}"
    )


def _advice(f: Facts) -> str:
    return _READS if f.from_offset < f.to_offset or f.is_caught_up else f"{_STANDS} {_READS}"


_STANDS = (
    "It does not read the metadata log: see its log for why it does not fetch from the active controller "
    "(controller.quorum.voters or controller.quorum.bootstrap.servers, the controllers' listener, a node.id that a "
    "controller has as well, a full or failed disk of metadata.log.dir)."
)
_READS = (
    "A broker that recovers its logs after an unclean shutdown is fenced until it is done: its log says how far it is "
    "(num.recovery.threads.per.data.dir). The other brokers serve clients meanwhile."
)
RULE = Rule(
    name="broker_stays_fenced",
    title="A broker stays fenced",
    severity="warning",
    meaning="A broker that has registered with the active controller is fenced until it has read the metadata log and "
    "recovered its own logs (KRaft): it leads nothing, and no client is told of it.",
    looks_at=f"BrokerHeartbeat answered as fenced, {limit.FENCED_BEATS} times or more for {limit.FENCED_S} s or "
    "longer, until the capture ends; brokers that shut down are left out.",
    advice=f"{_STANDS} {_READS}",
    sources=("KIP-631", "org.apache.kafka.controller.BrokerHeartbeatManager"),
    detectors=(
        Detector(
            reads={
                "heartbeats": _HEARTBEATS,
                "heartbeats_at_all": Groups(
                    _HEARTBEATS,
                    per=("client_ip",),
                    having=all_of(
                        count() >= limit.FENCED_BEATS,
                        largest("ts_ns") - smallest("ts_ns") >= limit.FENCED_S * 1_000_000_000,
                    ),
                ),
                "named": Where(BROKER_HEARTBEAT_REQUESTS, want_shut_down=False),
                "answered": Where(BROKER_HEARTBEAT_RESPONSES),
                "fenced": Groups(
                    Where(BROKER_HEARTBEAT_RESPONSES, is_fenced=True), having=count() >= limit.FENCED_BEATS
                ),
            },
            candidates=Candidates(
                {
                    "heartbeats": ("request_id", "ts_ns"),
                    "named": ("request_id", "broker_id"),
                    "answered": ("request_id", "is_fenced"),
                },
                _stays_fenced,
            ),
            query=_QUERY,
            subject=lambda f: f"broker {f.broker_id}",
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
