"""Brokers that did not reach the active KRaft controller, while others did.

Looks at connections to ports where all requests are those to a controller. The controller hears nothing from such a
broker for broker.session.timeout.ms and then fences it: other brokers become the leaders of its partitions and the
coordinators of its groups, while it still runs and answers. Could be confused with a controller that is down
(controller_down), which no broker reaches, and with controllers that do not reach each other (controllers_cut). Proved
by other brokers that reached the same controller at that time.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, named


def _sentence(failure: Failure, times: Times) -> str:
    beside = ", while other brokers did" if failure.is_served_beside else ""
    return (
        f"{named(failure)} did not reach the controller {_controllers(failure)} {times.of(failure)}{beside}. The "
        "controller fences a broker from which it hears nothing: others take over what it leads and coordinates, while "
        "its process still runs"
    )


def _controllers(failure: Failure) -> str:
    """Returns the controllers in words."""
    return listed(sorted({row.broker for row in failure.states if row.server_ip in failure.hosts}))


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield network(
        f"Look at the network and the firewalls between {failure.subject} and the controller {_controllers(failure)}: "
        "its port is another one than that of clients."
    )
    yield brokers(
        f"The log of {failure.subject} shows heartbeats that timed out. kafka-metadata-quorum.sh {observed.tool} "
        "describe --replication shows whether it follows the controller again; what it led stays with other brokers "
        "until a preferred leader election (kafka-leader-election.sh)."
    )


CUT_FROM_CONTROLLER = Kind(
    "cut_from_controller",
    "broker cut off from the controller",
    plural="brokers cut off from the controller",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="replication",
    between_brokers=True,
    cuts_clients=True,
)
