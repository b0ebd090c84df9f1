"""A path between a broker and some hosts on which packets took long, in one direction or both.

Looks at how long after a segment was captured its acknowledgment was: kernels send that by themselves, so that no busy
process delays it. Could be confused with a lossy path, where what is not lost is acknowledged at once; with the link of
a host or broker, where its other paths are slow too; and with a virtual machine that gets little processor time, whose
kernel is late as well. Proved by other hosts that this broker acknowledged at once, and other brokers that did so for
these hosts.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.texts import BY_STATES, MOST_COMMANDS, QUEUES, late_by
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    hosts = listed(sorted(failure.hosts))
    return f"Packets between {hosts} and {failure.subject} took long {times.of(failure)}: {late_by(failure)}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    between = f"{listed(sorted(failure.hosts), MOST_COMMANDS)} and {failure.server or failure.subject}"
    yield network(
        f"Look for what holds packets back between {between}: {QUEUES}, a route or tunnel that became longer, an "
        "overloaded middlebox or virtual machine."
    )


PATH_DELAYED = Kind(
    "path_delayed",
    "network path slow",
    plural="network paths slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="path",
    states=frozenset({"delayed"}),
    of_path=True,
)
