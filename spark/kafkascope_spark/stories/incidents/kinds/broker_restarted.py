"""A broker that restarted while no client waited for it.

Looks at the requests that the broker sends to other nodes: its registration with the controller, and the connections
that it opened before and after. Could be confused with broker_down, which is reported if a host saw its connections
end, or was refused; and with a broker that only lost its connections to the controller, which does not register again.
Proved by its new registration (KIP-595, KIP-631).
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import named, under_replicated


def _sentence(failure: Failure, times: Times) -> str:
    restart = failure.process.restart
    how = ""
    if restart is not None:
        is_asked = restart.asked_ns is not None
        began = "it asked the controller to let it go, closed its" if is_asked else "it closed its"
        how = f": {began} connections to other nodes and opened new ones at {times.at(restart.back_ns)}"
    return f"{named(failure)} restarted {times.of(failure)}{how}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        "None where it was restarted on purpose, and no partition is under-replicated now: "
        f"{under_replicated(observed)}."
    )
    if failure.process.restart is not None and failure.process.restart.asked_ns is None:
        yield brokers(f"It did not shut down in order: look at the log of {failure.subject} for that time.")


BROKER_RESTARTED = Kind(
    "broker_restarted",
    "broker restarted",
    plural="brokers restarted",
    sentence=_sentence,
    advice=_advice,
    known="its registration with the controller, and the connections that it opened to other nodes before and after",
    place="broker",
    of_broker=True,
    cuts_clients=True,
    restarts=True,
)
