"""A listener that accepted no new connections of some hosts, while open connections continued to work.

Looks at attempts to connect that were not answered, while packets of the broker arrived at the same hosts; and at first
requests of new connections without a response, while the broker answered others at once: then the kernel has completed
these connections, and the process does not take them out of the listener's queue. Could be confused with a cut path,
where nothing arrives at all, and with a slow broker, which answers requests on open connections late too; proved by the
packets on older connections.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(state.n_waiting for state in failure.states)
    to_whom = f"New connections of {listed(sorted(failure.hosts))} to {failure.subject}"
    if _are_in_queue(failure):
        return (
            f"{to_whom} were accepted late or never {times.of(failure)}: {counted(n, 'connection')} or attempts to "
            "connect waited, most of them with a request that the broker's kernel acknowledged, while open connections "
            "kept working"
        )
    return (
        f"{to_whom} were not accepted {times.of(failure)}: {counted(n, 'attempt')} had no answer, while open "
        "connections kept working"
    )


def _are_in_queue(failure: Failure) -> bool:
    """Whether the kernel completed connections which the process did not accept: no device on the way kept them out."""
    return any(state.requests for state in failure.states)


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    hosts = listed(sorted(failure.hosts), MOST_COMMANDS)
    if _are_in_queue(failure):
        yield brokers(
            "See whether a limit for new connections was reached: max.connection.creation.rate (for the broker or the "
            "listener), connection_creation_rate (a quota for an address). Connections wait in the listener's queue "
            "until the limit allows the next. A higher limit costs the broker more handshakes."
        )
        yield brokers(
            "Without such a limit, the listener's acceptor or network threads do not run: take a thread dump (jstack) "
            "while it lasts; ss -ltn on the broker's host shows the connections that wait (Recv-Q of the port)."
        )
        yield brokers(f"See which clients on {hosts} open connections again and again: they fill the queue.")
        return
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
