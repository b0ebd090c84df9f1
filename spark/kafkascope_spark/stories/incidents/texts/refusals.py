"""`Refusal`: meaning of an error with which brokers refuse requests, and the advice for it; and kinds of incidents that
such errors make.

Only errors that last are incidents: a request that is refused once and succeeds within a second is normal. `meaning`
and advice come from the exception classes of org.apache.kafka.common.errors, and from the settings of brokers and
topics that these name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kafkascope_parsers.schema import api_catalogue
from kafkascope_spark.stories.findings.wording import client, listed, times
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.table import Place
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources

Advice = Callable[[Failure, Observed], Iterable[Action]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The meaning of an error for the request, and the advice."""

    meaning: str | Callable[[Failure], str]
    """Text after the times in the incident's sentence; a function if it depends on the failure."""
    advice: Advice


def advise(*actions: Action) -> Advice:
    """Returns the same actions for every failure."""
    return lambda _failure, _observed: actions


def refused(refusals: Mapping[str, Refusal]) -> Callable[[Failure, Times], str]:
    """Returns a function that makes the sentence: which clients got which errors for what, how often, and their
    meaning."""

    def sentence(failure: Failure, when: Times) -> str:
        who = listed(sorted({client(row.client_id, row.client_ip) for row in failure.recoveries}))
        n = sum(row.n_errors for row in failure.recoveries)
        meanings = "; ".join(_meaning(refusals[name], failure) for name in sorted(failure.error_names))
        return (
            f"{who} got {listed(sorted(failure.error_names))} {times(n)} for {resources(failure)}{_requests(failure)} "
            f"{when.of(failure)}: "
            f"{meanings}{_again(failure)}"
        )

    return sentence


def _requests(failure: Failure) -> str:
    """Returns the names of the refused requests in brackets, with a space before; empty if they are not known. Those of
    a group are followed by the topic-partitions that its errors are about."""
    keys = {row.first_api_key for row in failure.recoveries if row.first_api_key is not None}
    names = sorted(api.name for key, api in api_catalogue().items() if key in keys)
    of = f" of {listed(sorted(failure.refused_partitions))}" if failure.refused_partitions else ""
    return f" ({listed(names)}{of})" if names else ""


def _meaning(refusal: Refusal, failure: Failure) -> str:
    return refusal.meaning if isinstance(refusal.meaning, str) else refusal.meaning(failure)


def _again(failure: Failure) -> str:
    """Returns which clients repeated the same request although that changes nothing, as a sentence; empty if none."""
    repeating = sorted({row.who for row in failure.recoveries if row.outcome == "wrong_reaction"})
    return f". {listed(repeating)} sent the same again and again, which changes nothing" if repeating else ""


def refused_advice(refusals: Mapping[str, Refusal]) -> Advice:
    """Returns a function that yields the advice for each error of a failure."""

    def advice(failure: Failure, observed: Observed) -> Iterable[Action]:
        for name in sorted(failure.error_names):
            yield from refusals[name].advice(failure, observed)

    return advice


def refusal_kind(
    name: str, words: str, place: Place, refusals: Mapping[str, Refusal], *, own_clients: bool = True
) -> Kind:
    """Returns a kind of incident that errors make. own_clients: whether only the clients that got the errors wait for
    it."""
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
