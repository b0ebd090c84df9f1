"""Connections of a client host that a device on the way forgot, all at once, while the processes lived on.

Looks at all connections between the host and its brokers that were in use: they ended together without being closed (no
FIN; their packets stopped, or a RST answered the next one), and the host connected again at once. Could be confused
with processes that were killed, whose kernel closes or resets all connections at the same moment; with a host that was
switched off, which does not connect again within seconds; and with brokers that restarted, which other hosts notice,
too. Proved by several brokers that lost the host at one time, and by other hosts whose connections went on.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS, faster, lost_flows


def _sentence(failure: Failure, times: Times) -> str:
    n_hosts, n_servers = len(failure.hosts), len({state.server for state in failure.states})
    between = f"{listed(sorted(failure.hosts))} and {counted(n_servers, 'broker')}"
    who = "the host" if n_hosts == 1 else "the hosts"
    contrast = f", while {failure.contrast.served_text}" if failure.contrast.n_hosts else ""
    return f"{lost_flows(failure, between)} {times.of(failure)}, and {who} connected again{contrast}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield network(
        f"Look for what keeps state about the connections of {hosts}: a firewall, NAT gateway, load balancer or proxy "
        "that restarted, failed over, loaded new rules, or whose table was full at that time (conntrack -S; "
        "nf_conntrack: table full)."
    )
    yield network("The brokers and the processes on the host worked.")
    yield from faster(observed)


FLOWS_RESET = Kind(
    "flows_reset",
    "connections of a host lost on the way",
    plural="times connections of a host were lost on the way",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="client_host",
    states=frozenset({"flows_lost"}),
    of_host=True,
    loses_flows=True,
)
