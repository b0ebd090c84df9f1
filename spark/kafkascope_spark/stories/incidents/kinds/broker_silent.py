"""A broker from which no packet came.

Looks at packets to the broker that its kernel did not acknowledge, on all connections of all hosts that used it. Could
be confused with broker_frozen, where the kernel acknowledges; with a cut path, where the broker serves other hosts; and
with the failure of the switch in front of it. Proved by other brokers that answered the same hosts meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import (
    BY_STATES,
    faster,
    hosts_waiting,
    named,
    sooner,
    sooner_fenced,
)


def _sentence(failure: Failure, times: Times) -> str:
    return f"{named(failure)} was silent {times.of(failure)}: no packet came from it while {hosts_waiting(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the host and the network of {failure.subject} for that time: link, power, hypervisor, firewall."
    )
    replicas = (
        "A lower replica.lag.time.max.ms of the brokers (default 30000) lets leaders drop a silent replica sooner."
    )
    yield from sooner(failure, (replicas, sooner_fenced(failure)), faster(observed))


BROKER_SILENT = Kind(
    "broker_silent",
    "broker silent",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    states=frozenset({"silent"}),
    of_broker=True,
    cuts_clients=True,
)
