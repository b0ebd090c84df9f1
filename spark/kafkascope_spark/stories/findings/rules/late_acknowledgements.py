"""`late_acknowledgements`: a share consumer acknowledges records after its lock on them was over."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration, times

_ACKNOWLEDGES = ("ShareAcknowledge", "ShareFetch")
# One finding per client and group. It acknowledges the records of the last ShareFetch before; held_ns is how long it
# had them.
_QUERY = f"""
with late as (
    select e.request_id, e.conn_id, e.ts_ns, r.group_id, e.topic,
        max(f.response_last_ns) as got_ns, max(l.acquisition_lock_timeout_ms) as lock_ms
    from refusals e join requests r using (request_id)
        left join requests f on f.conn_id = e.conn_id and f.api_key = {api_keys.SHARE_FETCH} and f.n_records > 0
            and f.response_last_ns < r.ts_ns
        left join share_fetch_responses l on l.conn_id = e.conn_id
    group by e.request_id, e.conn_id, e.ts_ns, r.group_id, e.topic
)
select client_instance_id, client_id, client_ip, software_name, group_id, count(distinct request_id) as n,
    min(ts_ns) as first_ns, max(ts_ns) as last_ns, array_sort(collect_set(topic)) as topics,
    max(lock_ms) as lock_ms, cast(percentile(ts_ns - got_ns, 0.5) as bigint) as held_ns, {first_ids()} as evidence,
    collect_set(conn_id) as conn_ids
from late join connection_clients using (conn_id)
where {NO_BROKER}
group by client_instance_id, client_id, client_ip, software_name, group_id"""


def _sentence(f: Facts) -> str:
    lock = "" if f.lock_ms is None else f", which lasts {duration(f.lock_ms * 1_000_000)}"
    held = "" if f.held_ns is None else f"it had them for {duration(f.held_ns)} (median), and "
    return (
        f"{client(f.client_id, f.client_ip)} in share group {f.group_id} acknowledged records {times(f.n)} that were "
        f"no longer its own (INVALID_RECORD_STATE), first at {f.begin(f.first_ns)}: {held}its lock on them{lock}, "
        "was over. The broker gives such records to a consumer again: their processing is repeated"
    )


def _advice(f: Facts) -> str:
    return _texts(f.lock_ms, f.held_ns)


def _texts(lock_ms: int | None = None, held_ns: int | None = None) -> str:
    now = "" if lock_ms is None else f" (now {lock_ms})"
    above = "" if held_ns is None else f" above {-(-held_ns // 1_000_000_000)}000 ms"
    return (
        "Let the consumer acknowledge sooner: fewer records at once (max.poll.records), slow work elsewhere, or an "
        "acknowledgement of type RENEW for what takes long (Kafka 4.2, KIP-1222). Or raise "
        f"group.share.record.lock.duration.ms of the brokers{now} or share.record.lock.duration.ms of the "
        f"group{above}: what a consumer that died held is then given to others later. Records that are given out "
        "group.share.delivery.count.limit times (default 5) are given to nobody any longer."
    )


RULE = Rule(
    name="late_acknowledgements",
    title="A share consumer acknowledges records after its lock on them is over",
    severity="warning",
    meaning="A share group gives each record to one consumer for as long as its acquisition lock lasts. A consumer "
    "that needs longer loses the record to another one, or gets it again; both do the work, and after some deliveries "
    "the record is archived, as if nobody could process it.",
    looks_at="INVALID_RECORD_STATE in responses to ShareAcknowledge or ShareFetch, with the time since the last "
    "ShareFetch of the connection that brought records, and the lock's duration that brokers state (ShareFetch v1). A "
    "consumer of which the broker was lost meanwhile, and its sessions with it, gets the same error.",
    advice=_texts(),
    sources=("KIP-932", "KIP-1222", "org.apache.kafka.server.share.SharePartition"),
    detectors=(
        Detector(
            reads={"refusals": Where(ERRORS, error_name="INVALID_RECORD_STATE", api_name=_ACKNOWLEDGES)},
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | {"leader_move"}),
)
