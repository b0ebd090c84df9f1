"""A path between a broker and some hosts that delayed packets, in one direction or both.

Looks at the time between a segment and its acknowledgment at the place of capture: kernels send acknowledgments by
themselves, so that a busy process does not delay them. Could be confused with a lossy path, where packets that are not
lost are acknowledged at once; with the link of a host or broker, where its other paths are slow too; and with a virtual
machine that gets little processor time, whose kernel is late as well. Proved by this broker's prompt acknowledgments to
other hosts, and by prompt acknowledgments between these hosts and other brokers.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, MOST_COMMANDS, QUEUES, late_by


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
