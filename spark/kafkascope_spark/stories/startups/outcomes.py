"""Decides which steps of a start failed, and which of them is the step at which the start failed: the first one in the
order in which an engineer would check."""

from kafkascope_parsers.error_facts import FATAL, NORMAL_ERRORS, errors_about
from kafkascope_spark.stories.startups.steps import PHASE_OF_STEP, Step

LAST_STEPS = 3
"""Steps at the end of a start that decide whether it failed. The client tries other brokers in between, so that the
very last step may have succeeded."""
_ANSWERS = NORMAL_ERRORS | errors_about("administration")
"""Errors that are no failure of a start. What an administrator is refused is the answer to the request: a program that
creates a topic at each start is told that it is there, and the client works."""
_BOOTSTRAP_STEPS = ("tls_handshake", "sasl_handshake", "sasl_authenticate", "api_versions", "metadata")


def is_fatal(step: Step) -> bool:
    """Whether a retry cannot overcome the step's error. Errors of ApiVersions are not fatal: it is repeated in a lower
    version."""
    return step.error_name in FATAL and step.name != "api_versions"


def has_failed(step: Step) -> bool:
    """Whether the step failed. A poll or rebalance without a response is no failure: the client left before."""
    if step.outcome == "unanswered":
        return PHASE_OF_STEP.get(step.name, "direct") in ("direct", "discovery") or step.name == "init_producer_id"
    return step.outcome == "error" and step.error_name not in _ANSWERS


def failed_at(steps: list[Step]) -> Step | None:
    """The step at which a failed start failed, or None.

    In this order: no address accepts a connection; a fatal error; no Metadata response; a name that does not resolve or
    a broker that cannot be reached; else the last failure.
    """
    failures = [s for s in steps if has_failed(s)]
    connects = [s for s in steps if s.name == "tcp_connect"]
    if connects and all(s.failed for s in connects):
        return connects[-1]
    fatal = next((s for s in steps if is_fatal(s)), None)
    if fatal is not None:
        return fatal
    done = {s.name for s in steps if not s.failed}
    if "metadata" not in done:
        in_bootstrap = [s for s in failures if s.name in _BOOTSTRAP_STEPS]
        if in_bootstrap:
            return in_bootstrap[-1]
    reached = {s.server for s in connects if not s.failed}
    unreached = [s for s in failures if s.name == "dns" or (s.name == "tcp_connect" and s.server not in reached)]
    return unreached[0] if unreached else failures[-1] if failures else None
