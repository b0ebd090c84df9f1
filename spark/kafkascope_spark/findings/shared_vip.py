"""`shared_vip`: one address stands for several brokers, and requests land on ones that do not lead."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import BEHIND, exprs, owned
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

ELSEWHERE = frozenset({"NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"})


def find(tables: Tables) -> DataFrame:
    """One finding per client and address."""
    behind = tables.once(owned).where(f"node_id is null and node_id_why like '%{BEHIND}%'")
    each = (
        tables[ERRORS]
        .where(f"error_name in ({', '.join(repr(name) for name in sorted(ELSEWHERE))})")
        .select("conn_id", "request_id", "ts_ns", "error_name", "api_name", "resource")
        .join(behind, "conn_id")
        .groupBy("client_instance_id", "client_id", "client_ip", "server", "node_id_why")
        .agg(
            *exprs(
                "count(*) as n",
                "size(collect_set(resource)) as n_resources",
                "array_sort(collect_set(api_name)) as apis",
                "collect_set(conn_id) as conn_ids",
                "min(ts_ns) as first_ns",
                "max(ts_ns) as last_ns",
                f"{wording.evidence()} as evidence",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="error",
            sentence=f"concat('more than one broker is behind ', server, ' (', "
            "split_part(node_id_why, ':', 1), '): ', "
            f"{wording.listed('apis')}, ' of ', {wording.called()}, "
            f"' landed on one that does not lead or coordinate ', {wording.times('n')}, "
            f"', first at ', {wording.clock('first_ns')})",
            subject="server",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="shared_vip",
    title="One address stands for several brokers",
    severity="error",
    meaning="Kafka clients must reach each broker by an address of its own: only the leader serves a "
    "topic-partition, only the coordinator a group. A load balancer, Kubernetes service or virtual IP in front of "
    "several brokers sends requests to whichever it likes, and all but one refuse them.",
    looks_at="An address that Metadata names for several node ids, or that answers for several, and on it answers "
    "with NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR. A proxy with an address or port per broker is none.",
    advice="Give every broker an advertised.listeners entry of its own (its host name, or a port per broker on the "
    "load balancer). A shared address is good for bootstrap.servers only.",
    sources=("KIP-103", "org.apache.kafka.clients.MetadataCache"),
    find=find,
    signs=(Sign(CONNECTIONS, "node_id_why", pattern=BEHIND),),
)
