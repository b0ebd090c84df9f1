"""What brokers say by an error about requests that they refuse, and what to change then: `Refusal`, for each error; and
kinds of incidents that are made of such errors.

Only what lasts is an incident: a request that is refused once, and gets what it wants within a second, is the
protocol's course. `meaning` and advice come from the exception classes of org.apache.kafka.common.errors, and from the
settings of brokers and topics that these name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kafkascope_spark.stories.findings.wording import client, listed, times
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.texts import BY_ERRORS, resources
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.table import Place
from kafkascope_spark.stories.incidents.times import Times

Advice = Callable[[Failure, Observed], Iterable[Action]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an error says about the request, after "that is:", and what to change."""

    meaning: str | Callable[[Failure], str]
    """The same always, or what it is of this failure."""
    advice: Advice


def advise(*actions: Action) -> Advice:
    """The same advice for all."""
    return lambda _failure, _observed: actions


def refused(refusals: Mapping[str, Refusal]) -> Callable[[Failure, Times], str]:
    """The sentence: who was refused what, how often, and what that means."""

    def sentence(failure: Failure, when: Times) -> str:
        who = listed(sorted({client(row.client_id, row.client_ip) for row in failure.recoveries}))
        n = sum(row.n_errors for row in failure.recoveries)
        meanings = "; ".join(_meaning(refusals[name], failure) for name in sorted(failure.error_names))
        return (
            f"{who} got {listed(sorted(failure.error_names))} {times(n)} for {resources(failure)} {when.of(failure)}: "
            f"{meanings}{_again(failure)}"
        )

    return sentence


def _meaning(refusal: Refusal, failure: Failure) -> str:
    return refusal.meaning if isinstance(refusal.meaning, str) else refusal.meaning(failure)


def _again(failure: Failure) -> str:
    """Who went on with the same request, although that changes nothing."""
    stubborn = sorted({row.who for row in failure.recoveries if row.outcome == "wrong_reaction"})
    return f". {listed(stubborn)} sent the same again and again, which changes nothing" if stubborn else ""


def refused_advice(refusals: Mapping[str, Refusal]) -> Advice:
    """The advice for each error."""

    def advice(failure: Failure, observed: Observed) -> Iterable[Action]:
        for name in sorted(failure.error_names):
            yield from refusals[name].advice(failure, observed)

    return advice


def refusal_kind(
    name: str, words: str, place: Place, refusals: Mapping[str, Refusal], *, own_clients: bool = True
) -> Kind:
    """A kind that is made of errors. own_clients: whether nobody waits for it but the clients that met these."""
    return Kind(
        name,
        words,
        sentence=refused(refusals),
        advice=refused_advice(refusals),
        known=BY_ERRORS,
        place=place,
        errors=frozenset(refusals),
        by_topic=True,
        lasting=True,
        own_clients=own_clients,
    )
