"""Connections of a broker that a device before it forgot, all at once, while the broker lived on.

Looks at all connections between the broker and several hosts that were in use: they ended together without being closed
(no FIN; their packets stopped, or a RST answered the next one), and the hosts connected again at once. Could be
confused with a broker that restarted, whose kernel closes or resets all connections at the same moment, and that is not
back at once. Proved by several hosts that lost the broker at one time while other brokers kept their connections.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, faster, lost_flows


def _sentence(failure: Failure, times: Times) -> str:
    between = f"{failure.subject} and {counted(len(failure.hosts), 'host')}"
    return f"{lost_flows(failure, between)} {times.of(failure)}, and the hosts connected again"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield network(
        f"Look for what keeps state about the connections of {failure.subject}: a firewall, NAT, load balancer or "
        "proxy before it that restarted, failed over, loaded new rules, or whose table was full at that time."
    )
    yield brokers("The broker itself worked.")
    yield from faster(observed)


BROKER_FLOWS_RESET = Kind(
    "broker_flows_reset",
    "connections of a broker lost on the way",
    plural="times connections of a broker were lost on the way",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    of_path=True,
    loses_flows=True,
)
