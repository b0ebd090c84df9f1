"""All rules, by name."""

from kafkascope_spark.findings import access_denied
from kafkascope_spark.findings.rule import Rule

RULES: tuple[Rule, ...] = (access_denied.RULE,)
