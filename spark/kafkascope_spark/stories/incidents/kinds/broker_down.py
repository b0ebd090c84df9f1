"""A broker whose connections all ended at the same time, and that refused new ones.

Looks at connections of a server that ended at one time, and at connections that it refused or that nothing answered
afterwards. Could be confused with a load balancer or a firewall that ends connections, where new ones are accepted at
once; and with the place of capture, where no connection ends. Proved by the moment at which it accepts connections
again, by its registration, or by other brokers that served the same hosts meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.coordinator_loading import COORDINATOR_LOADING, LOADING, still_loading
from kafkascope_spark.stories.incidents.texts.texts import (
    BY_STATES,
    lower,
    named,
    reaction,
    restarts,
    sooner,
    sooner_fenced,
    under_replicated,
)


def _sentence(failure: Failure, times: Times) -> str:
    how = "its connections ended together, and new ones were refused"
    if failure.is_since_before:
        how = "it was when the capture began, and new connections were refused"
    if failure.closed_ns is None:
        return f"{named(failure)} was down {times.of(failure)}: {how}{restarts(failure, times)}{_loading(failure)}"
    return (
        f"{named(failure)} shut down from {times.at(failure.start_ns)} on and was down {times.of(failure)}: it "
        f"handed over what it led and coordinated, then {how}{restarts(failure, times)}{_loading(failure)}"
    )


def _loading(failure: Failure) -> str:
    """Returns what the broker has not finished loading since it is back, as the end of a sentence; empty if nothing."""
    names = sorted({row.resource for row in still_loading(failure)})
    return f"; since it is back, it has not finished loading {listed(names)} ({LOADING})" if names else ""


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if still_loading(failure):
        yield from COORDINATOR_LOADING.advice(failure, observed)
        return
    session = failure.process.session
    wait = f"and wait until no partition is under-replicated: {under_replicated(observed)}."
    if failure.closed_ns is not None or (session is not None and session.is_closed):
        yield brokers(f"It shut down in order, as for a restart. Restart brokers one at a time, {wait}")
    else:
        yield brokers(f"Look at the log of {failure.subject} and at its host for that time.")
        if len(failure.process.starts) > 1:
            yield brokers(
                "Its process ended again soon after it had begun: see why (out of memory, a health check that fails, a "
                "full disk), before something starts it again and again."
            )
        yield brokers(
            "If it was restarted on purpose, restart brokers one at a time with controlled.shutdown.enable=true,"
        )
        yield brokers(wait)
    is_lost = session is not None and not session.is_closed
    is_fenced = failure.closed_ns is None and reaction(failure) is not None
    by_cluster = (sooner_fenced(failure),) if is_lost or is_fenced else ()
    yield from sooner(failure, by_cluster, lower(("reconnect_backoff", "metadata_age"), observed, "come back"))


BROKER_DOWN = Kind(
    "broker_down",
    "broker down",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    states=frozenset({"down", "refusing"}),
    of_broker=True,
    cuts_clients=True,
    restarts=True,
)
