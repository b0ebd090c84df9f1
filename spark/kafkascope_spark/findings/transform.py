"""`findings`: what all rules find, as rows of the table. A rule that cannot see what it needs says nothing."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import FINDINGS
from kafkascope_spark.findings.rule import MOST_EVIDENCE, Rule
from kafkascope_spark.tables import Tables


def findings(tables: Tables, rules: Sequence[Rule]) -> DataFrame:
    """The rows of the table findings (without its `*_ts` columns). Lazy."""
    told = [_of(rule, tables) for rule in rules]
    if not told:
        return tables.empty(FINDINGS)
    return reduce(DataFrame.unionByName, told)


def _of(rule: Rule, tables: Tables) -> DataFrame:
    said = rule.find(tables)
    subject = fn.coalesce("subject", fn.lit(""))
    client = fn.coalesce("client_instance_id", fn.lit(""))
    key = fn.concat_ws("|", fn.lit(rule.name), subject, client, fn.col("first_ns").cast("string"))
    return said.select(
        fn.concat(fn.lit("finding-"), fn.substring(fn.sha2(key, 256), 1, 16)).alias("finding_id"),
        fn.lit(rule.name).alias("rule"),
        "severity",
        "sentence",
        fn.coalesce("advice", fn.lit(rule.advice)).alias("advice"),
        "client_instance_id",
        _first(fn.array_sort(fn.array_distinct(fn.coalesce("conn_ids", fn.array().cast("array<string>"))))).alias(
            "conn_ids"
        ),
        "subject",
        "n",
        "first_ns",
        "last_ns",
        _first(fn.array_distinct(fn.coalesce("evidence", fn.array().cast("array<string>")))).alias("evidence"),
    )


def _first(ids: Column) -> Column:
    return fn.slice(ids, 1, MOST_EVIDENCE)
