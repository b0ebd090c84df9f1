"""A broker that responded late to all hosts.

Looks at the time that the broker takes for work without other brokers, compared with its usual time, and at stalls that
nothing else explains while most of its responses were late. Could be confused with a replica that it waits for
(acks=all), and with a network that delays all packets to it. Proved by other brokers that were not slower than
usual."""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, late, named


def _sentence(failure: Failure, times: Times) -> str:
    if not failure.states:
        quicker = ", while other brokers responded faster" if failure.confidence == "likely" else ""
        if failure.responses.slow_at:
            to, well = f" to {listed(failure.responses.slow_at)}", ", while it answered its other requests at once"
            return f"Node {failure.node_id} responded late{to} {times.of(failure)}: {late(failure)}{quicker}{well}"
        return f"{named(failure)} responded late {times.of(failure)}: {late(failure)}{quicker}"
    of_process = [state.times_usual for state in failure.states if state.times_usual is not None]
    was_slow = f"{named(failure)} was slow {times.of(failure)}"
    if not of_process:
        return f"{was_slow}: responses took at least ten times as long as usual"
    took = (
        f"at least a tenth of the requests that it handles without other brokers took {max(of_process)} times as "
        "long as usual or longer"
    )
    return f"{was_slow}: {took}, while other brokers were as fast as usual"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    if failure.responses.slow_at:
        yield brokers(
            f"Node {failure.node_id} is not slow in general. See what {listed(failure.responses.slow_at)} waits for: "
            "replicas of the partition (of __consumer_offsets for commits, __transaction_state for transactions; "
            "RemoteTimeMs), its disk (LocalTimeMs; iostat -x 1), or a limit of a managed service for such requests."
        )
        if "OffsetCommit" in failure.responses.slow_at:
            yield clients("Where commits are limited, commit less often: once for many records.")
        return
    yield brokers(
        f"Look at the load of {failure.subject} for that time: disk (iostat -x 1), request queue and handler threads "
        "(RequestQueueTimeMs, RequestHandlerAvgIdlePercent; num.io.threads, num.network.threads)."
    )
    if failure.is_slow_process:
        yield network(
            f"Where its load was as usual, look at the network of {failure.subject} (ss -ti on its host shows the "
            "round trips of its connections): packets that take up to 20 ms longer on the way look the same; up to "
            "200 ms longer where the capture does not show for how long kernels delay acknowledgments."
        )


BROKER_SLOW = Kind(
    "broker_slow",
    "broker slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    states=frozenset({"slow"}),
    of_broker=True,
)
