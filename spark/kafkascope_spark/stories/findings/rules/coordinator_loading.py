"""`coordinator_loading`: a coordinator was still loading the state of groups or transactional ids."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, any_of, count, first_known, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN, joined_lists
from kafkascope_spark.stories.findings.wording import broker, counted, duration, times

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
# One finding per broker and load. InitProducerId of an idempotent producer needs no coordinator: the broker waits for a
# block of producer ids, so responses without a group or transactional id do not count.
_QUERY = f"""
with responses as (
    select *, coalesce(group_id, transactional_id) as coordinated
    from loading_responses left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
    where {NO_BROKER}
), loads as (
    select node_id, coordinated, session_window.start as window_start, {SEEN},
        collect_set(client_instance_id) as clients, bool_or(group_id is null) as has_transactions
    from responses group by node_id, coordinated, session_window(ts, '{limit.LOAD_APART_S} seconds')
)
select node_id, array(node_id) as node_ids, sum(n) as n, bool_or(has_transactions) as has_transactions,
    max(last_ns - first_ns) as longest_ns,
    max_by(coordinated, struct(last_ns - first_ns, coordinated)) as slowest,
    count(distinct coordinated) as n_coordinated, min(first_ns) as first_ns, max(last_ns) as last_ns,
    size(array_distinct(flatten(collect_list(clients)))) as n_clients,
    if(size(array_distinct(flatten(collect_list(clients)))) = 1, flatten(collect_list(clients))[0], null)
        as client_instance_id,
    flatten(collect_list(conn_ids)) as conn_ids, {joined_lists("evidence", "first_ns, coordinated")} as evidence
from loads
group by node_id, session_window(window_start, '{limit.LOAD_APART_S} seconds')
having max(last_ns - first_ns) >= {limit.LOAD_MS} * 1000000 or max(n) > {limit.STORM}"""


def _sentence(f: Facts) -> str:
    who = "A broker" if f.node_id is None else f"Broker {f.node_id}"
    what = counted(f.n_coordinated, "group or transactional id" if f.has_transactions else "group")
    return (
        f"{who} was still loading {what} at {f.begin(f.first_ns)}: for {duration(f.longest_ns)} it answered "
        f"{f.slowest} {LOADING}, {times(f.n)} in all to {counted(f.n_clients, 'client')}"
    )


_LOADING = Where(ERRORS, any_of(group_id=NOT_NULL, transactional_id=NOT_NULL), error_name=LOADING)
DETECTOR = Detector(
    reads={
        "loading_responses": _LOADING,
        "long_loads": Groups(
            _LOADING,
            per=("node_id", first_known("group_id", "transactional_id")),
            having=any_of(largest("ts_ns") - smallest("ts_ns") >= limit.LOAD_MS * 1_000_000, count() > limit.STORM),
        ),
    },
    query=_QUERY,
    subject=lambda f: broker(f.node_id) or f.slowest,
    sentence=_sentence,
)
RULE = Rule(
    name="coordinator_loading",
    title="A coordinator was still loading its state",
    severity="warning",
    meaning="A broker that becomes the coordinator of a group or of a transactional id first reads the whole "
    "partition of __consumer_offsets or __transaction_state that holds it. Until then it answers "
    "COORDINATOR_LOAD_IN_PROGRESS: no client can commit offsets, join, or begin and end transactions there.",
    looks_at=f"{LOADING} from the same broker about the same group or transactional id, from the first answer to the "
    f"last. Less than {limit.LOAD_MS} ms, and not more than {limit.STORM} answers about one, is a load as it should "
    "be. InitProducerId without a transactional id does not count: it waits for producer ids, not for a coordinator.",
    advice="Make the partitions of __consumer_offsets small: log.cleaner.enable=true and a cleaner that keeps up "
    "(log.cleaner.threads, log.cleaner.dedupe.buffer.size; the metric max-compaction-delay-secs), a smaller "
    "offsets.topic.segment.bytes, fewer commits, a lower offsets.retention.minutes (groups without members lose their "
    "offsets sooner then). A larger offsets.load.buffer.size makes each read larger. Clients only need to try again.",
    sources=(
        "KIP-447",
        "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl",
        "kafka.server metric partition-load-time-max of group-coordinator-metrics",
    ),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"coordinator_loading"}),
)
