"""A connection that a device between a host and a broker has forgotten, while other connections of the two worked.

Looks at packets that were retransmitted without an acknowledgment, and at packets that arrived on other connections at
the same time. Could be confused with a cut path, where nothing arrives at all; proved by a new connection of the same
two hosts that works.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, clients, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(state.n_waiting for state in failure.states)
    hosts = listed(sorted(failure.hosts))
    dead = f"{counted(n, 'connection')} between {hosts} and {failure.subject} {'was' if n == 1 else 'were'} dead"
    tries = "nothing that was sent was acknowledged, however often it was sent again"
    return f"{dead} {times.of(failure)}: {tries}, while another connection worked, or a new one worked at once"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    between = f"{listed(sorted(failure.hosts), MOST_COMMANDS)} and {failure.server or failure.subject}"
    yield network(
        f"Look for what keeps state about connections between {between}: a firewall, NAT or load balancer that forgets "
        "connections which were idle for longer than its timeout, and drops what comes later."
    )
    idle = settings(("max_idle",), observed.libraries)
    yield clients(
        f"Let clients close idle connections sooner than that{f' ({idle})' if idle else ''}, or let TCP keep them "
        "alive (net.ipv4.tcp_keepalive_time, where the library sets SO_KEEPALIVE)."
    )


DEAD_FLOW = Kind(
    "dead_flow",
    "connection forgotten on the way",
    plural="connections forgotten on the way",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="path",
    states=frozenset({"flow_dead"}),
    of_path=True,
)
