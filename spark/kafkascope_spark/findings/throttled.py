"""`throttled`: a quota made clients wait."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import NO_BROKER, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

QUOTA = (
    "case api_name when 'Produce' then 'producer_byte_rate' when 'Fetch' then 'consumer_byte_rate' "
    "when 'CreateTopics' then 'controller_mutation_rate' when 'CreatePartitions' then 'controller_mutation_rate' "
    "when 'DeleteTopics' then 'controller_mutation_rate' else 'request_percentage' end"
)


def find(tables: Tables) -> DataFrame:
    """One finding per client and API."""
    owned = tables.clients_by_conn.select("conn_id", "client_instance_id", "kind", "principal")
    each = (
        tables[REQUESTS]
        .where("throttle_ms > 0")
        .join(owned, on="conn_id", how="left")
        .where(NO_BROKER)
        .groupBy("client_instance_id", "client_id", "client_ip", "principal", "api_name")
        .agg(
            *seen(),
            fn.expr("sum(throttle_ms) as throttled_ms"),
            fn.expr("max(throttle_ms) as longest_ms"),
            fn.expr("sum(record_bytes) as moved_bytes"),
        )
    )
    # What went through while it was throttled is about what the quota allows.
    span = "(last_ns - first_ns + longest_ms * 1000000L)"
    rate = f"if(n > 2 and moved_bytes > 0, cast(round(moved_bytes * 1000000000 / {span}) as bigint), null)"
    rated = each.selectExpr("*", f"{QUOTA} as quota", f"{rate} as bytes_a_second")
    sentence = (
        f"concat({wording.called()}, ' was throttled ', {wording.times('n')}, ' in ', api_name, ', by ', "
        f"{wording.lasting('throttled_ms * 1000000L')}, ' in all and up to ', "
        f"{wording.lasting('longest_ms * 1000000L')}, ', first at ', {wording.clock('first_ns')}, "
        "coalesce(concat('; about ', bytes_a_second, ' bytes/s went through'), ''))"
    )
    advice = (
        "concat('Raise the quota ', quota, ' of client-id ', coalesce(client_id, '?'), "
        "coalesce(concat(' or of user ', principal), ''), "
        "coalesce(concat(' (about ', bytes_a_second, ' bytes/s went through)'), ''), "
        "' with kafka-configs.sh --alter --add-config, or make the client ask for less.')"
    )
    severity = fn.expr(f"if(throttled_ms >= {limit.THROTTLED_MS}, 'warning', 'info')")
    return told(rated, severity, sentence, subject="api_name", client="client_instance_id", advice=advice)


RULE = Rule(
    name="throttled",
    title="A quota made a client wait",
    severity="warning",
    meaning="The broker told the client that it went over a quota, and for how long it is muted. Since KIP-219 the "
    "answer comes at once and the client has to wait; the broker reads nothing more from it meanwhile.",
    looks_at="throttle_time_ms above zero in an answer. The quota itself is not on the wire: which one it was follows "
    "from the API, and the rate is what went through meanwhile. Brokers' own throttles are left out. Less than "
    f"{limit.THROTTLED_MS} ms in all is for information.",
    advice="Raise the quota (producer_byte_rate for Produce, consumer_byte_rate for Fetch, controller_mutation_rate "
    "for topics, else request_percentage) of the client-id or user with kafka-configs.sh, or make the client ask for "
    "less: compression.type, a larger batch.size and linger.ms, a larger fetch.min.bytes.",
    sources=("KIP-13", "KIP-124", "KIP-219", "KIP-599", "org.apache.kafka.server.quota.ClientQuotaManager"),
    find=find,
    signs=(Sign(REQUESTS, "throttle_ms", above=0),),
)
