"""A broker whose own link or kernel delayed packets of all hosts.

Looks at acknowledgments that came late on the paths between the broker and all hosts that talked to it. Could be
confused with a broker whose process is slow: its kernel acknowledges at once. Proved by other brokers that acknowledged
packets of the same hosts at once.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, QUEUES, late_by


def _sentence(failure: Failure, times: Times) -> str:
    hosts = counted(len({state.host for state in failure.states}), "host")
    between = f"Packets between {failure.subject} and all hosts that talked to it ({hosts}) took long"
    return f"{between} {times.of(failure)}: {late_by(failure)}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield network(f"Look at the link of {failure.subject}: {QUEUES}, a route that became longer.")
    yield brokers(
        "The broker's process is not what was slow: kernels acknowledge by themselves. See whether its machine got the "
        "processor time that it needs (steal time of a virtual machine)."
    )


BROKER_DELAYED = Kind(
    "broker_delayed",
    "broker's network slow",
    plural="brokers' networks slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    of_broker=True,
)
