"""`leader_skew`: one broker has far more to do than the others."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import REQUESTS, TOPOLOGY
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding, of the busiest broker."""
    brokers = tables[TOPOLOGY].where("kind = 'broker'").agg(fn.expr("count(distinct node_id) as n_brokers"))
    nodes = (
        tables[REQUESTS]
        .where(
            f"api_key in ({wire.PRODUCE}, {wire.FETCH}, {wire.SHARE_FETCH}) and record_bytes > 0 "
            "and node_id is not null and coalesce(replica_id, -1) < 0"
        )
        .groupBy("node_id")
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("sum(record_bytes) as moved_bytes"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr("min(struct(ts_ns, request_id)) as sample"),
        )
    )
    busiest = (
        nodes.agg(
            fn.expr("max_by(struct(node_id, n, moved_bytes, first_ns, last_ns, sample), moved_bytes) as busiest"),
            fn.expr("sum(moved_bytes) as all_bytes"),
        )
        .crossJoin(brokers)
        .where(
            f"n_brokers > 1 and all_bytes >= {limit.SKEW_BYTES} "
            f"and busiest.moved_bytes * n_brokers >= all_bytes * {limit.SKEW_TIMES}"
        )
    )
    share = "round(100 * busiest.moved_bytes / all_bytes)"
    sentence = (
        f"concat('Broker ', busiest.node_id, ' moved ', cast({share} as int), ' % of all records (', "
        f"{wording.size('busiest.moved_bytes')}, ' of ', {wording.size('all_bytes')}, '), with ', n_brokers, "
        f"' brokers in the cluster, from ', {wording.clock('busiest.first_ns')})"
    )
    return found(
        busiest,
        Finding(
            severity="info",
            sentence=sentence,
            subject="concat('broker ', busiest.node_id)",
            n="busiest.n",
            first_ns="busiest.first_ns",
            last_ns="busiest.last_ns",
            evidence="array(busiest.sample.request_id)",
            conn_ids=wording.connections_of("array(busiest.sample.request_id)"),
        ),
    )


RULE = Rule(
    name="leader_skew",
    title="One broker has most of the traffic",
    severity="info",
    meaning="Producers and consumers talk to the leader of each partition. When one broker leads the busy ones, it "
    "limits the whole cluster while others are idle.",
    looks_at=f"Bytes of records in Produce and in answers to clients' Fetch, by broker: the busiest one has "
    f"{limit.SKEW_TIMES} times its even share or more, of at least {limit.SKEW_BYTES // 1024} KiB. Brokers are counted "
    "from the cluster's metadata. A capture taken on one broker shows its own traffic only.",
    advice="Bring the leaders home with kafka-leader-election.sh --election-type preferred "
    "(auto.leader.rebalance.enable); move partitions with kafka-reassign-partitions.sh; where one partition is the "
    "busy one, give the topic more partitions and the records keys that spread.",
    sources=("auto.leader.rebalance.enable of the broker settings", "KIP-460"),
    find=find,
    signs=(Sign(REQUESTS, "record_bytes", total=limit.SKEW_BYTES - 1),),
)
