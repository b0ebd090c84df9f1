"""All brokers failed at the same time.

Looks at the states of all brokers that served clients. Could be confused with a failure of the network between all
clients and all brokers, or of the place of capture, where no connection ends; and with hosts that are cut off, while
the same brokers serve another host (hosts_cut). Proved by packets that show each broker down, silent or frozen at the
same time.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, ENDED_STATES


def _sentence(failure: Failure, times: Times) -> str:
    n = len({state.broker_key for state in failure.states if state.host_kind == "client"})
    beside = f", though {listed(sorted(failure.beside))} answers for the cluster" if failure.beside else ""
    when = times.of(failure)
    return f"All {counted(n, 'broker')} were unavailable at one time {when}: no client could be served{beside}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    if failure.beside:
        yield network(
            f"{listed(sorted(failure.beside))} belongs to no single broker: something in front of the brokers, which "
            "reaches one. If it still answers, the brokers run, and what is missing is the way to the addresses that "
            "they advertise: the services, node ports or load balancers of the single brokers (endpoints without a "
            "pod because labels changed, a target group without targets, a firewall)."
        )
    if all(state.state in ENDED_STATES for state in failure.states):
        yield brokers(
            "Find out what stopped all brokers: an orchestration that restarts them together, a shared host, disk or "
            "power. Restart them one at a time, each when no partition is under-replicated any more."
        )
    else:
        yield brokers(
            "Look for what all brokers have in common: their network, hosts and storage. If only the capture shows "
            "it, look at the place of capture: a link between all clients and all brokers would look the same."
        )


CLUSTER_DOWN = Kind(
    "cluster_down",
    "all brokers down",
    plural="times when all brokers were down",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="cluster",
)
