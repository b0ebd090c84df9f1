"""`coordinator_loading`: a broker was still reading the state of groups or transactions that clients asked it about."""

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


def find(tables: Tables) -> DataFrame:
    """One finding per broker and load."""
    # InitProducerId of an idempotent producer asks no coordinator: there the broker waits for a block of producer ids.
    answers = (
        client_errors(tables, LOADING)
        .selectExpr("*", "coalesce(group_id, transactional_id) as coordinated")
        .where("coordinated is not null")
    )
    each = answers.groupBy(
        "node_id", "coordinated", fn.session_window("ts", f"{limit.LOAD_APART_S} seconds").alias("load")
    ).agg(*seen(), fn.expr("collect_set(client_instance_id) as clients"), fn.expr("bool_or(group_id is null) as other"))
    loads = (
        each.groupBy("node_id", fn.session_window(fn.col("load.start"), f"{limit.LOAD_APART_S} seconds").alias("loads"))
        .agg(
            fn.expr("sum(n) as n"),
            fn.expr("if(bool_or(other), 'group or transactional id', 'group') as what"),
            fn.expr("max(n) as most"),
            fn.expr("max(last_ns - first_ns) as longest_ns"),
            fn.expr("max_by(coordinated, last_ns - first_ns) as slowest"),
            fn.expr("count(distinct coordinated) as n_coordinated"),
            fn.expr("min(first_ns) as first_ns"),
            fn.expr("max(last_ns) as last_ns"),
            fn.expr("array_distinct(flatten(collect_list(clients))) as clients"),
            fn.expr("array_distinct(flatten(collect_list(conn_ids))) as conn_ids"),
            fn.expr(
                "array_distinct(flatten(transform(array_sort(collect_list(struct(first_ns, evidence))), "
                "part -> part.evidence))) as evidence"
            ),
        )
        .where(f"longest_ns >= {limit.LOAD_MS} * 1000000 or most > {limit.STORM}")
    )
    broker = "coalesce(concat('Broker ', node_id), 'A broker')"
    sentence = (
        f"concat({broker}, ' was still loading ', n_coordinated, ' ', what, if(n_coordinated = 1, '', 's'), "
        f"' at ', {wording.clock('first_ns')}, ': for ', {wording.lasting('longest_ns')}, ' it answered ', slowest, "
        f"' {LOADING}, ', {wording.times('n')}, ' in all to ', {wording.counted('size(clients)', 'client')})"
    )
    return told(
        loads,
        "warning",
        sentence,
        subject="coalesce(concat('broker ', node_id), slowest)",
        client="if(size(clients) = 1, clients[0], null)",
    )


RULE = Rule(
    name="coordinator_loading",
    title="A coordinator was still loading its state",
    severity="warning",
    meaning="A broker that becomes the coordinator of a group or of a transactional id first reads the whole "
    "partition of __consumer_offsets or __transaction_state that holds it. Until then it answers "
    "COORDINATOR_LOAD_IN_PROGRESS: nobody commits offsets, joins, or begins and ends transactions there.",
    looks_at=f"{LOADING} from the same broker about the same group or transactional id, from the first answer to the "
    f"last. Less than {limit.LOAD_MS} ms, and not more than {limit.STORM} answers about one, is a load as it should "
    "be. InitProducerId without a transactional id does not count: it waits for producer ids, not for a coordinator.",
    advice="Make the partitions of __consumer_offsets small: log.cleaner.enable=true and a cleaner that keeps up "
    "(log.cleaner.threads, log.cleaner.dedupe.buffer.size; the metric max-compaction-delay-secs), a smaller "
    "offsets.topic.segment.bytes, fewer commits (auto.commit.interval.ms) and "
    "offsets.retention.minutes. offsets.load.buffer.size makes each read larger. Clients only need to try again.",
    sources=(
        "KIP-447",
        "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl",
        "kafka.server metric partition-load-time-max of group-coordinator-metrics",
    ),
    find=find,
    signs=(
        Sign(
            ERRORS,
            where=(pc.field("error_name") == LOADING)
            & (pc.field("group_id").is_valid() | pc.field("transactional_id").is_valid()),
        ),
    ),
)
