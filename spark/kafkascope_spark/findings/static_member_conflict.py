"""`static_member_conflict`: two running consumers share one group.instance.id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import client_errors, seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

ERRORS_OF_IT = ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID")


def find(tables: Tables) -> DataFrame:
    """One finding per refused client."""
    each = _refused(tables)
    instance = "coalesce(concat('group.instance.id ', group_instance_id), 'its group.instance.id')"
    refused_so = (
        f"concat(' was refused ', {wording.times('n')}, ' (', names, '), first at ', {wording.clock('first_ns')})"
    )
    others = f"if(size(rivals) = 0, 'another consumer, which the capture does not show,', {wording.listed('rivals')})"
    shared = (
        f"concat({wording.called()}, ' and ', {others}, ' both use ', {instance}, ' in group ', "
        f"coalesce(group_id, '?'), ': ', {wording.called()}, {refused_so})"
    )
    held = (
        f"concat({wording.called()}, {refused_so}, ': ', {instance}, ' in group ', coalesce(group_id, '?'), "
        "' is still held by a member that nobody hears of')"
    )
    # A member that died holds its group.instance.id until its session times out (KIP-848): no second one is there.
    is_held = "names = 'UNRELEASED_INSTANCE_ID' and size(rivals) = 0"
    return told(
        each,
        fn.expr(f"if({is_held}, 'warning', 'error')"),
        f"if({is_held}, {held}, {shared})",
        subject="coalesce(group_instance_id, group_id)",
        client="client_instance_id",
    )


def _refused(tables: Tables) -> DataFrame:
    """One row per refused client, with its rivals."""
    refused = (
        client_errors(tables, *ERRORS_OF_IT)
        .groupBy("client_instance_id", "client_id", "client_ip", "group_id")
        .agg(*seen(), fn.expr("array_join(array_sort(collect_set(error_name)), ', ') as names"))
    )
    static = tables[CLIENTS].where("group_instance_id is not null")
    mine = static.selectExpr("client_instance_id", "group_instance_id")
    rivals = static.selectExpr(
        "client_instance_id as rival_id",
        "group_id",
        "group_instance_id",
        f"{wording.called()} as rival",
        "first_ns as rival_first_ns",
        "last_ns as rival_last_ns",
    )
    # The rival runs when the other is refused: a consumer that ended before is no conflict.
    meets = (
        "(rival_id is null or (rival_id != client_instance_id and rival_first_ns <= last_ns "
        "and rival_last_ns >= first_ns))"
    )
    return (
        refused.join(mine, on="client_instance_id", how="left")
        .join(rivals, on=["group_id", "group_instance_id"], how="left")
        .groupBy(
            "client_instance_id",
            "client_id",
            "client_ip",
            "group_id",
            "group_instance_id",
            "names",
            "n",
            "first_ns",
            "last_ns",
            "evidence",
            "conn_ids",
        )
        .agg(fn.expr(f"array_sort(collect_set(if({meets}, rival, null))) as rivals"))
    )


RULE = Rule(
    name="static_member_conflict",
    title="Two consumers share one group.instance.id",
    severity="error",
    meaning="A static member is known by its group.instance.id. When a second consumer joins with the same one, the "
    "coordinator gives it the place of the first, and fences the first one for good (classic groups); or it refuses "
    "the second until the first has left (KIP-848).",
    looks_at="FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID; the other consumer is the one that used the same "
    "group.instance.id in the group at that time.",
    advice="Give each consumer of the group a group.instance.id of its own (the pod's or host's name, not a constant); "
    "make sure that the old process has ended before its successor starts.",
    sources=("KIP-345", "KIP-848", "org.apache.kafka.common.errors.FencedInstanceIdException"),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(ERRORS_OF_IT)),),
)
