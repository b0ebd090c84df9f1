"""`leader_storm`: clients keep asking a broker that does not lead or coordinate what they ask for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, shared
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

MOVED = frozenset(
    {
        "NOT_LEADER_OR_FOLLOWER",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "LEADER_NOT_AVAILABLE",
        "NOT_COORDINATOR",
    }
)


def find(tables: Tables) -> DataFrame:
    """One finding per client. What a proxy in front of several brokers passes on counts for the clients before it."""
    each = (
        tables[RECOVERIES]
        .where(f"storm and first_error_name in ({', '.join(repr(name) for name in sorted(MOVED))})")
        .groupBy("client_instance_id")
        .agg(
            *exprs(
                "array_sort(collect_set(resource)) as resources",
                "array_sort(collect_set(first_error_name)) as errors",
                "sum(n_errors) as n",
                "min(start_ns) as first_ns",
                "max(coalesce(recovered_ns, start_ns)) as last_ns",
                "count_if(recovered_ns is null) as n_open",
                "flatten(collect_list(evidence)) as evidence",
            )
        )
        .join(tables[CLIENTS].select("client_instance_id", "client_id", "client_ip"), "client_instance_id")
        .join(tables.once(shared).select(fn.col("server_ip").alias("client_ip")), "client_ip", "left_anti")
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=f"concat({wording.called()}, ' got ', n, ' errors (', {wording.listed('errors')}, ') for ', "
            f"{wording.listed('resources')}, ' from ', {wording.clock('first_ns')}, ' on, ', if(n_open > 0, "
            f"'and had not recovered at the end', concat('for ', {wording.lasting('(last_ns - first_ns)')})))",
            subject=wording.listed("resources"),
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="leader_storm",
    title="A client storms a broker that does not lead or coordinate what it asks for",
    severity="warning",
    meaning="Leadership of a topic-partition, or a group's coordinator, is elsewhere, and the client goes on "
    "asking at the wrong broker instead of learning where. Each try costs the broker a request and the "
    "application time.",
    looks_at="Episodes of NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, LEADER_NOT_AVAILABLE "
    "or NOT_COORDINATOR with more than 10 errors in a second, or more than 50. A move of leadership that clients "
    "follow within a few errors is none.",
    advice="Raise the client's retry.backoff.ms (100 ms by default) and retry.backoff.max.ms, upgrade it to one "
    "that takes the new leader from the answer (KIP-951: Java 3.7, librdkafka 2.4), and see why leadership moved "
    "(auto.leader.rebalance.enable, a broker that was lost).",
    sources=("KIP-951", "KIP-580", "org.apache.kafka.clients.Metadata"),
    find=find,
    signs=(Sign(RECOVERIES, "storm", above=0),),
    unless=("shared_vip",),
)
