"""KRaft controllers that did not reach each other.

Looks at connections to ports where all requests are those to a controller, between nodes that did not reach each other
there, while clients were served. Without a majority of the controllers the cluster serves on, but elects no leader and
changes nothing: a broker that fails then is not replaced. Could be confused with a controller that is down
(controller_down), whose connections end. Proved by clients that brokers served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES


def _sentence(failure: Failure, times: Times) -> str:
    return (
        f"The controllers at {failure.subject} did not reach each other {times.of(failure)}: without a majority "
        "of them no leader is elected and a failed broker is not replaced, while the other brokers keep serving"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    servers = listed(sorted({row.server for row in failure.states}))
    yield network(f"Look at the network between the controllers: they did not reach each other at {servers}.")
    yield brokers(
        "kafka-metadata-quorum.sh --bootstrap-controller with the address of a controller, and describe --status, "
        "shows their leader and which of them lag. Restart no broker before the controllers have a leader."
    )


CONTROLLERS_CUT = Kind(
    "controllers_cut",
    "controllers cut off",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="replication",
    between_brokers=True,
    cuts_clients=True,
)
