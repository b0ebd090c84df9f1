"""All rules, by name."""

from kafkascope_spark.findings import (
    access_denied,
    advertised_mismatch,
    advertised_unreachable,
    auth_failed,
    bootstrap_only,
    broker_lost,
    capture_untrustworthy,
    fenced_producer,
    hanging_transaction,
    idle_reset,
    leader_storm,
    old_versions,
    reauth_late,
    request_timeout,
    shared_vip,
    slow_startup,
    stuck_consumer,
    wrong_protocol,
)
from kafkascope_spark.findings.rule import Rule

RULES: tuple[Rule, ...] = (
    access_denied.RULE,
    advertised_mismatch.RULE,
    advertised_unreachable.RULE,
    auth_failed.RULE,
    bootstrap_only.RULE,
    broker_lost.RULE,
    capture_untrustworthy.RULE,
    fenced_producer.RULE,
    hanging_transaction.RULE,
    idle_reset.RULE,
    leader_storm.RULE,
    old_versions.RULE,
    reauth_late.RULE,
    request_timeout.RULE,
    shared_vip.RULE,
    slow_startup.RULE,
    stuck_consumer.RULE,
    wrong_protocol.RULE,
)
