"""A broker whose own link lost packets of all hosts.

Looks at packets between the broker and all hosts that talk to it that arrived only after a retransmission. Could be
confused with a lossy path, where this broker serves some host without loss; and with the network of the hosts, where
they lose packets to other brokers too. Proved by other brokers that served the same hosts without loss.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted
from kafkascope_spark.stories.incidents.actions import Action, brokers, network
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, look_at_link


def _sentence(failure: Failure, times: Times) -> str:
    hosts = counted(len({state.host for state in failure.states}), "host")
    between = f"Packets between {failure.subject} and all hosts that talked to it ({hosts}) were lost"
    return (
        f"{between} {times.of(failure)}: the same bytes had to be sent again, several times in a row, before they "
        "arrived"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield network(look_at_link(failure.subject))
    yield brokers("The broker itself worked.")


BROKER_LOSSY = Kind(
    "broker_lossy",
    "broker loses packets",
    plural="brokers lose packets",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    of_broker=True,
)
