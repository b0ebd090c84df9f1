"""Several hosts that reached no broker, while the same brokers served another host.

Looks at the states of all brokers, as for cluster_down, and at who was served meanwhile. Could be confused with brokers
that were all down, which serve nobody; and with a single host without network (client_host). Proved by responses of
these brokers to other hosts.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS


def _sentence(failure: Failure, times: Times) -> str:
    return (
        f"{listed(sorted(failure.hosts))} could not use any broker {times.of(failure)}, while the same brokers served "
        f"{listed(sorted(failure.contrast.hosts_beside))}"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield network(
        f"The brokers ran: they served {listed(sorted(failure.contrast.hosts_beside), MOST_COMMANDS)}. Look at what "
        f"{listed(sorted(failure.hosts), MOST_COMMANDS)} have in common on their way to the brokers: a gateway, "
        "router, firewall or VPN."
    )


HOSTS_CUT = Kind(
    "hosts_cut",
    "hosts cut off",
    plural="times when hosts were cut off",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="path",
)
