"""A path between a broker and some hosts that failed, or lost packets, while the broker served others.

Looks at packets between one host and one broker that were not acknowledged, were retransmitted, or were missing. Could
be confused with a failed host, where its other brokers do not answer either; with a failed broker, where no other host
is served; and with a forgotten connection (dead_flow), where a new one works. Proved by responses of that broker to
other hosts, and of other brokers to that host.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import (
    BY_STATES,
    ENDED_STATES,
    LINK_COUNTERS,
    MOST_COMMANDS,
    QUEUES,
    faster,
    lower,
)


def _sentence(failure: Failure, times: Times) -> str:
    hosts = listed(sorted(failure.hosts))
    if failure.is_lossy:
        between = f"Packets between {hosts} and {failure.subject} were lost {times.of(failure)}"
        return f"{between}: the same bytes had to be sent again, several times in a row, before they arrived"
    if failure.is_only_from_broker:
        lost = f"Packets of {failure.subject} did not reach {hosts} {times.of(failure)}"
        other = f"{hosts} acknowledged none of them, while its own packets reached the broker"
        return f"{lost}: {other}, which served other hosts"
    silent = "it acknowledged nothing of what was sent to it"
    how = {
        "silent": "attempts to connect were not answered" if failure.connecting_hosts else silent,
        "refusing": "connections were refused",
        "down": "connections were refused",
    }
    states = {row.state for row in failure.states}
    what = " and ".join(dict.fromkeys(how[s] for s in sorted(states) if s in how)) or "no response came back"
    return f"{hosts} did not reach {failure.subject} {times.of(failure)}: {what}, while the broker served other hosts"


_SOME_ATTEMPTS = (
    "Other attempts of the same host were answered: look at a load balancer in between, one of whose targets does not "
    "answer, or is that host itself (a connection that comes back to where it began is dropped where the load balancer "
    "keeps the client's address), and at a full table of connections (NAT, conntrack)."
)


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    between = f"{listed(sorted(failure.hosts), MOST_COMMANDS)} and {failure.server or failure.subject}"
    if failure.is_lossy:
        yield network(
            f"Look for what drops packets between {between}: errors and drops of network interfaces ({LINK_COUNTERS}), "
            f"{QUEUES}, the limits of virtual machines and middleboxes."
        )
        return
    yield network(f"Look at what lies between {between}: firewall rules, security groups, NAT, routes.")
    yield network("The broker itself worked.")
    if failure.connecting_hosts and failure.stretches:
        yield network(_SOME_ATTEMPTS)
    if any(state.state not in ENDED_STATES for state in failure.states):
        yield from faster(observed)
    else:
        yield from lower(("reconnect_backoff",), observed, "come back")


PATH = Kind(
    "path",
    "network path failed",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="path",
    states=frozenset({"lossy"}),
    of_path=True,
    cuts_clients=True,
)
