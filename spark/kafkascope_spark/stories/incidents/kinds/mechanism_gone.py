"""Brokers that refused a SASL mechanism which their listener had taken, or takes at other brokers.

Looks at refused SaslHandshakes (UNSUPPORTED_SASL_MECHANISM), and at connections that were served with the same
mechanism at the same port. Could be confused with clients that have the wrong setting (client): their mechanism was
never taken there. Proved by those connections: the setting of the broker is another one than before, or than that of
the others, most often since a restart.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_sentence


def _sentence(failure: Failure, times: Times) -> str:
    said = (
        f"A SASL mechanism was missing: {failure.subject}"
        if failure.misuse is None
        else misuse_sentence(failure.misuse)
    )
    return f"{said} {times.of(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.misuse is None:
        yield brokers(f"Compare sasl.enabled.mechanisms of the brokers: {failure.subject}.")
    else:
        yield from what_fits(failure.misuse, observed)


MECHANISM_GONE = Kind(
    "mechanism_gone",
    "SASL mechanism missing at a broker",
    plural="SASL mechanisms missing at brokers",
    sentence=_sentence,
    advice=_advice,
    known="error codes of SASL",
    place="listener",
    of_clients=True,
)
