"""Brokers that accepted connections of a host and closed them at once, as they do at a connection limit.

Looks at connections that the broker closed before it had sent anything, several in a row. Could be confused with a
client that speaks another protocol than the listener, which has an incident of its own if other connections show the
protocol of the listener; with a broker that stops, which refuses connections or closes old ones too; and with a load
balancer that has no backend, or a proxy beside the client that has no way to the broker: no connection of that host is
ever served then. Proved by other hosts that were served meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES


def _brokers(failure: Failure) -> str:
    return listed(sorted({state.broker for state in failure.states}))


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(state.n_waiting for state in failure.states)
    closed = f"{counted(n, 'new connection')} {'was' if n == 1 else 'were'} accepted and closed before any response"
    contrast = f"{failure.contrast.served_text} meanwhile"
    if not failure.contrast.n_hosts:
        contrast = "the capture shows no other host whose requests were answered meanwhile"
    why = "as at a connection limit"
    if failure.is_never_let_in:
        why = "and none was ever served, as behind a proxy that does not reach the broker"
    return f"{failure.subject} was turned away by {_brokers(failure)} {times.of(failure)}: {closed}, {why}; {contrast}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts))
    limit = (
        "max.connections.per.ip and max.connections.per.ip.overrides" if failure.contrast.n_hosts else "max.connections"
    )
    if failure.is_never_let_in:
        yield network(
            f"See what accepts connections of {hosts} to {_brokers(failure)}: a sidecar or proxy on that host "
            "(Istio: its log, and whether it knows that port as TCP), a load balancer without a backend, a firewall "
            "that answers in place of the broker. A host without connections cannot reach a limit for one address."
        )
        limit = "max.connections, which connections of other hosts may use up"
    yield brokers(
        f"Look at the brokers' {limit} (their log names the limit), and at how many connections {hosts} holds."
    )
    yield brokers(
        "Raise the limit where these connections are wanted; where they are not, look for clients that open more "
        "connections than they close. A higher limit lets one host take more of the brokers' threads and memory."
    )
    yield brokers("Where a load balancer is in front of the brokers, check whether it had a backend.")
    nodes = sorted({state.node_id for state in failure.states if state.node_id is not None})
    yield brokers(
        f"The limits: kafka-configs.sh {observed.tool} --entity-type brokers "
        f"--entity-name {nodes[0] if nodes else 'NODE'} --describe --all"
    )


CONNECTION_LIMIT = Kind(
    "connection_limit",
    "connections turned away",
    plural="times when connections were turned away",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="listener",
    states=frozenset({"turned_away"}),
    keeps_out=True,
)
