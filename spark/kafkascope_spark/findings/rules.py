"""All rules, by name."""

from kafkascope_spark.findings import access_denied, fenced_producer, hanging_transaction, stuck_consumer
from kafkascope_spark.findings.rule import Rule

RULES: tuple[Rule, ...] = (
    access_denied.RULE,
    fenced_producer.RULE,
    hanging_transaction.RULE,
    stuck_consumer.RULE,
)
