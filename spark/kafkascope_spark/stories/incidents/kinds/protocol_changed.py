"""Brokers that answered requests without TLS with a TLS alert, at a listener that had served such requests, or serves
them at other brokers.

Looks at connections on which all that came from the server is as long as a TLS alert, and at connections that were
served without TLS at the same port. Could be confused with clients that have the wrong setting (client): nobody was
ever served there without TLS. Proved by the connections that were: the setting of the broker is another one than
before, or than that of the others, most often since a restart.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_sentence


def _sentence(failure: Failure, times: Times) -> str:
    said = f"A listener spoke TLS: {failure.subject}" if failure.misuse is None else misuse_sentence(failure.misuse)
    return f"{said} {times.of(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.misuse is None:
        yield brokers(f"Compare listener.security.protocol.map of the brokers: {failure.subject}.")
    else:
        yield from what_fits(failure.misuse, observed)


PROTOCOL_CHANGED = Kind(
    "protocol_changed",
    "listener demands TLS at a broker",
    plural="listeners demand TLS at brokers",
    sentence=_sentence,
    advice=_advice,
    known="TLS alerts, and connections that were served without TLS at the same port",
    place="listener",
    of_clients=True,
)
