"""Members that their group went on without: silent until the session timed out, and not heard of since."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS, REBALANCES
from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Finding, found
from kafkascope_spark.tables import Tables


def gone_without(tables: Tables, thrown_out: tuple[str, ...]) -> DataFrame:
    """Findings: one per client and group. thrown_out: errors of those that came back, which are told by them."""
    back = (
        tables[ERRORS]
        .where(fn.col("error_name").isin(*thrown_out))
        .join(tables.owners(), on="conn_id", how="inner")
        .select("client_instance_id", "group_id")
    )
    evicted = (
        tables[REBALANCES]
        .selectExpr("group_id", "start_ns", "evidence as proof", "inline(departed)")
        .where("how = 'evicted' and client_instance_id is not null")
        .join(back, on=["client_instance_id", "group_id"], how="left_anti")
        .groupBy("client_instance_id", "group_id")
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("min(start_ns) as first_ns"),
            fn.expr("max(start_ns) as last_ns"),
            fn.expr("min_by(struct(silent_ms, session_timeout_ms, last_heard_ns, proof), start_ns) as first"),
        )
    )
    each = evicted.join(
        tables[CLIENTS].selectExpr("client_instance_id", "client_id", "client_ip", "conn_ids", "end"),
        on="client_instance_id",
        how="inner",
    )
    timeout = "coalesce(concat(', its session.timeout.ms is ', first.session_timeout_ms), '')"
    sentence = (
        f"concat('Group ', group_id, ' went on without ', {wording.called()}, ' at ', {wording.clock('first_ns')}, "
        f"': nothing was heard of it since ', {wording.clock('first.last_heard_ns')}, ', for ', "
        f"{wording.lasting('(first.silent_ms * 1000000L)')}, {timeout}, if(end = 'died', "
        "'; it ended without leaving', ''))"
    )
    advice = (
        "concat('Find out why the member ended or was silent; let it close its consumer when it is stopped (on "
        "SIGTERM, too), so that the group does not wait. session.timeout.ms', coalesce(concat(' (now ', "
        "first.session_timeout_ms, ')'), ''), ' is how long its partitions stay unread.')"
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=sentence,
            advice=advice,
            subject="group_id",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="if(size(first.proof) > 0, first.proof, conn_ids)",
        ),
    )
