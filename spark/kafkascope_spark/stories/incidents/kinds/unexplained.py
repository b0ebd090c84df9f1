"""Stalls that nothing in the capture explains.

Looks at stalls of a second or longer (--stall) that belong to no other incident. The cause may be any failure that
leaves no packet: a broker's own threads, locks or disks, an application, a host outside of the capture.
"""

from collections import Counter
from collections.abc import Iterable

from kafkascope_parsers.error_facts import WAITS_FOR
from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed, names_of
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_TIMES

_ENCRYPTED = "no packet shows why, and responses are encrypted: errors and leader moves are not known"
_SEVERAL = 2
"""With this many stalls or more, the sentence lists the brokers that they waited for."""


def _sentence(failure: Failure, times: Times) -> str:
    kinds = {stall.kind for stall in failure.stalls}
    what = {
        "produce": "records were not accepted",
        "consume": "accepted records were not fetched",
        "commit": "offsets were not committed",
        "membership": "a client was not a member of its group",
        "transaction": "a transaction made no progress",
        "metadata": "metadata was not returned",
    }
    waited = " and ".join(what[kind] for kind in what if kind in kinds)
    errors = sorted({name for stall in failure.stalls for name in stall.error_names})
    why = f"the errors were {listed(errors)}" if errors else _why(failure)
    return f"{waited[:1].upper()}{waited[1:]} {times.of(failure)}; {why}{_waited_for(failure)}"


def _why(failure: Failure) -> str:
    """Returns what else is known of the stalls: late responses of brokers that were quick to others, or nothing."""
    slow = failure.responses.latencies.slow
    if not slow and any(stall.claimed for stall in failure.stalls):
        return f"{_ENCRYPTED}{_waited_on(failure)}"
    if not slow:
        return f"nothing in the capture shows why{_waited_on(failure)}"
    hosts, nodes = (listed(sorted({str(pair[at]) for pair in slow})) for at in (0, 1))
    return f"responses of node {nodes} to {hosts} came late, and other responses of these brokers came at once"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    who = names_of((client.client_id, client.client_ip) for client in observed.clients)
    logs = f" and of {listed(who)}" if who else ""
    yield brokers(f"Look at the logs of the brokers{logs} for that time; capture the traffic between brokers too.")
    if any(stall.claimed for stall in failure.stalls):
        yield brokers("Capture with a key log of the brokers (--tls-keylog): it shows errors and leader moves.")


def _waited_on(failure: Failure) -> str:
    """Returns the brokers that several stalls waited for, those of most stalls first; empty if there are too few."""
    nodes = Counter(stall.node_id for stall in failure.stalls if stall.node_id is not None)
    if sum(nodes.values()) < _SEVERAL:
        return ""
    ordered = sorted(nodes, key=lambda node: (-nodes[node], node))
    waited = listed([f"{counted(nodes[node], 'stall')} waited for node {node}" for node in ordered])
    return f" ({waited})"


def _waited_for(failure: Failure) -> str:
    """Returns what brokers waited for while they returned the errors, and which brokers did."""
    waiting = [(stall, name) for stall in failure.stalls for name in stall.error_names if name in WAITS_FOR]
    if not waiting:
        return ""
    nodes = sorted({stall.node_id for stall, _ in waiting if stall.node_id is not None})
    who = listed([f"node {node}" for node in nodes]) if nodes else "the broker"
    return f": {who} waited for {listed(sorted({WAITS_FOR[name] for _, name in waiting}))}"


UNEXPLAINED = Kind(
    "unexplained",
    "unexplained",
    sentence=_sentence,
    advice=_advice,
    known=BY_TIMES,
    place=None,
)
