"""A broker that did not read the data of some clients for a second or longer, while it served others.

Looks at receive windows of the broker that stayed closed. Could be confused with a frozen broker, which sends nothing
to any host; proved by the data that it sent to others. A broker that handles requests one by one closes no window for
long; it does so to clients that continue to send while it throttles them.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(state.n_waiting for state in failure.states)
    return (
        f"{failure.subject[:1].upper()}{failure.subject[1:]} did not read what {listed(sorted(failure.hosts))} sent "
        f"{times.of(failure)}: the receive window of {counted(n, 'connection')} stayed closed, while the broker sent "
        "data to others"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield brokers(
        f"Look at what held the requests of {hosts} back at {failure.subject}: a quota (throttle-time of the "
        "client), a full request queue (RequestQueueSize against queued.max.requests, "
        "RequestHandlerAvgIdlePercent), or a blocked network thread (num.network.threads)."
    )
    yield clients(
        "What is sent with acks=0 is lost without an error where the client closes the connection meanwhile: acks=all "
        "shows it."
    )


NOT_READING = Kind(
    "not_reading",
    "broker did not read",
    plural="times when brokers did not read",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    states=frozenset({"not_reading"}),
    of_path=True,
)
