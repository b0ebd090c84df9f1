"""A path between a broker and some hosts that drops long packets.

Looks at segments that were retransmitted without an acknowledgment, all of them long, while shorter frames of the same
sender arrived at once. Could be confused with a cut path, where nothing arrives, and with a path that loses packets at
random, where short ones are lost too; proved by the lengths of the lost and of the arrived packets.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed, address
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS


def _sentence(failure: Failure, times: Times) -> str:
    return (
        f"Long packets between {listed(sorted(failure.hosts))} and {failure.subject} were lost {times.of(failure)}, "
        "however often they were sent again, while shorter ones arrived: a link between the two takes no packets of "
        "that length (MTU)"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    server = address(failure.server).rpartition(":")[0]
    yield network(
        f"Look for a link with a smaller MTU between {hosts} and {failure.server or failure.subject} (a tunnel, VPN or "
        "overlay network), and for a firewall that drops ICMP `fragmentation needed`. To check, from one of the hosts: "
        f"tracepath -n {server}"
    )
    yield network(
        "Let ICMP type 3 code 4 pass, or set the MTU of the interfaces, or the MSS of connections on that way, to what "
        "the link takes; net.ipv4.tcp_mtu_probing=1 lets hosts find it by themselves."
    )


MTU = Kind(
    "mtu",
    "long packets lost on the path",
    plural="paths that lose long packets",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="path",
    states=frozenset({"mtu"}),
    of_path=True,
)
