"""`findings`: what all rules find, as rows of the table. A rule that cannot see what it needs says nothing."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import FINDINGS
from kafkascope_spark.findings.rule import MOST_EVIDENCE, Find, Rule, Way
from kafkascope_spark.findings.signs import Signs
from kafkascope_spark.read import MOST_LOOKED_THROUGH
from kafkascope_spark.tables import Tables

_IDS = "array_distinct(coalesce({}, cast(array() as array<string>)))"
_ROWS = (
    "concat('finding-', substring(sha2(concat_ws('|', rule, coalesce(subject, ''), coalesce(client_instance_id, ''), "
    "first_ns), 256), 1, 16)) as finding_id",
    "rule",
    "severity",
    "sentence",
    "coalesce(advice, rule_advice) as advice",
    "client_instance_id",
    f"slice(array_sort({_IDS.format('conn_ids')}), 1, {MOST_EVIDENCE}) as conn_ids",
    "subject",
    "n",
    "first_ns",
    "last_ns",
    f"slice({_IDS.format('evidence')}, 1, {MOST_EVIDENCE}) as evidence",
)


def findings(tables: Tables, rules: Sequence[Rule]) -> DataFrame:
    """The rows of the table findings (without its `*_ts` columns). Lazy."""
    ways = asked(tables, rules)
    if not ways:
        return tables.empty(FINDINGS)
    told = [
        find(tables).select(fn.lit(rule.name).alias("rule"), fn.lit(rule.advice).alias("rule_advice"), "*")
        for rule, find in ways
    ]
    return _unexplained(reduce(DataFrame.union, told), [rule for rule, _ in ways]).selectExpr(*_ROWS)


def _unexplained(told: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The findings without those that others explain (Rule.unless). rules: those asked."""
    names = {rule.name for rule in rules}
    for rule in rules:
        reasons = [f"'{name}'" for name in rule.unless if name in names]
        if reasons:
            explained = f"max(rule in ({', '.join(reasons)})) over (partition by client_instance_id)"
            told = told.selectExpr(
                "*", f"rule = '{rule.name}' and client_instance_id is not null and {explained} as ex"
            )
            told = told.where("not ex").drop("ex")
    return told


def asked(tables: Tables, rules: Sequence[Rule]) -> list[tuple[Rule, Find]]:
    """The ways of the rules that can find something: those of which the dataset shows a sign; in one that is too large
    to be looked through for them, all.
    """
    ways = [(rule, way) for rule in rules for way in (Way(rule.find, rule.signs), *rule.also)]
    signs = Signs(tables.dataset)
    return [
        (rule, way.find) for rule, way in ways if tables.n_requests > MOST_LOOKED_THROUGH or signs.shows_any(way.signs)
    ]
