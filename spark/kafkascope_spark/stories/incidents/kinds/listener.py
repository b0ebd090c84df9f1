"""An address of a broker at which nobody was ever served.

Looks at attempts to connect to an address over the whole capture, and at where clients got the address from: Metadata
(advertised.listeners) or their own settings. Could be confused with a broker that was down during the whole capture,
which its other listeners and the other brokers' Metadata show; and with a cut path, where somebody was served there at
some time. Proved only for the time of the capture: nobody was served.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import SECURED, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import NO_SERVER, Observed, address
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.settings import setting


def _sentence(failure: Failure, times: Times) -> str:
    why = "no connection was accepted there in the capture"
    whose = "" if failure.node_id is None else f", which is given as the address of node {failure.node_id},"
    return f"Nobody was served at {failure.subject}{whose} {times.of(failure)}: {why}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    server = failure.server or NO_SERVER
    reached = sorted({s for c in observed.clients for s in (*c.servers, *c.secured_servers)} - failure.servers)
    if observed.is_advertised(failure.servers) or not observed.clients:
        yield brokers(f"Brokers advertise {failure.subject} (advertised.listeners); no connection was accepted there.")
    else:
        names = setting("bootstrap", observed.libraries)
        yield brokers(
            f"Metadata did not name {server} in the capture: it stands in {names} of these clients, or did before."
        )
    if reached:
        yield brokers(f"The same clients reached {listed(reached)}.")
    yield brokers(
        "Let each broker's advertised.listeners name an address that these clients reach, or open the way to "
        f"{failure.subject}. To check, from a client's host: kafka-broker-api-versions.sh --bootstrap-server "
        f"{address(server)} ({SECURED})"
    )


LISTENER = Kind(
    "listener",
    "advertised listener wrong",
    sentence=_sentence,
    advice=_advice,
    known="attempts to connect",
    place="listener",
    of_listener=True,
)
