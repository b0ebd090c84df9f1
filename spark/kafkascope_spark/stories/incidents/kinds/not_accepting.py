"""A listener that accepted no new connections of some hosts, while open connections continued to work.

Looks at attempts to connect that were not answered, while packets of the broker arrived at the same hosts. Could be
confused with a cut path, where nothing arrives at all; proved by the packets on older connections.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.texts import BY_STATES, MOST_COMMANDS
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(state.n_waiting for state in failure.states)
    return (
        f"New connections of {listed(sorted(failure.hosts))} to {failure.subject} were not accepted "
        f"{times.of(failure)}: {counted(n, 'attempt')} had no answer, while open connections kept working"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    yield network(
        f"Look for a firewall rule or security group that lets only open connections between {hosts} and "
        f"{failure.server or failure.subject} pass (a changed rule, one that rejects with ICMP, a full table of "
        "connections: nf_conntrack in dmesg)."
    )
    yield brokers(
        "On the broker's host, look at the queue of the listener (ss -ltn; netstat -s: SYNs to LISTEN sockets "
        "dropped): an acceptor that does not run lets it fill up."
    )


NOT_ACCEPTING = Kind(
    "not_accepting",
    "new connections not accepted",
    plural="times when new connections were not accepted",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="listener",
    states=frozenset({"not_accepting"}),
    of_path=True,
    keeps_out=True,
)
