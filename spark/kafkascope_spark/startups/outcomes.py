"""How a start ended, and at which step it failed: the first answer in the order in which a person would check."""

from kafkascope_spark.recoveries.reactions import NO_EPISODE
from kafkascope_spark.startups.steps import PHASE_OF_STEP, Step

LAST_STEPS = 3
"""Steps at the end of a start that tell whether it failed: later successes on other brokers are tried in between."""
FATAL = frozenset(
    [
        "SASL_AUTHENTICATION_FAILED",
        "UNSUPPORTED_SASL_MECHANISM",
        "ILLEGAL_SASL_STATE",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "FENCED_INSTANCE_ID",
        "PRODUCER_FENCED",
        "UNSUPPORTED_VERSION",
        "INVALID_TOPIC_EXCEPTION",
        "INVALID_GROUP_ID",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_SESSION_TIMEOUT",
        "GROUP_MAX_SIZE_REACHED",
        "INVALID_REQUIRED_ACKS",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_TRANSACTION_TIMEOUT",
        "UNSUPPORTED_ASSIGNOR",
    ]
)
"""Errors that no client gets over by trying again."""
_BOOTSTRAP_STEPS = ("tls_handshake", "sasl_handshake", "sasl_authenticate", "api_versions", "metadata")


def is_fatal(step: Step) -> bool:
    """Whether no client gets over it; ApiVersions is asked again in a lower version."""
    return step.error_name in FATAL and step.name != "api_versions"


def has_failed(step: Step) -> bool:
    """Whether the step failed; an unanswered poll or rebalance at the end is a client that left while it waited."""
    if step.outcome == "unanswered":
        return PHASE_OF_STEP.get(step.name, "direct") in ("direct", "discovery") or step.name == "init_producer_id"
    return step.outcome == "error" and step.error_name not in NO_EPISODE


def failed_at(steps: list[Step]) -> Step | None:
    """The step at which a start that failed did: no address answers; what no client gets over; no Metadata answer; a
    name does not resolve; not every broker can be reached; else the last failure."""
    failures = [s for s in steps if has_failed(s)]
    connects = [s for s in steps if s.name == "tcp_connect"]
    if connects and all(s.failed for s in connects):
        return connects[-1]
    fatal = next((s for s in steps if is_fatal(s)), None)
    if fatal is not None:
        return fatal
    done = {s.name for s in steps if not s.failed}
    if "metadata" not in done:
        found = [s for s in failures if s.name in _BOOTSTRAP_STEPS]
        if found:
            return found[-1]
    reached = {s.server for s in connects if not s.failed}
    unreached = [s for s in failures if s.name == "dns" or (s.name == "tcp_connect" and s.server not in reached)]
    return unreached[0] if unreached else failures[-1] if failures else None
