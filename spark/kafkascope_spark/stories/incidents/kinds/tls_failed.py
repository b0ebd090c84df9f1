"""Clients and listeners that did not agree on TLS, or did not trust each other: one side ended the handshake.

Looks at TLS alerts, at the versions and suites that were offered and chosen, and at certificates if the TLS version
shows them. Could be confused with a client without TLS at a TLS listener (client), and with a certificate that was
replaced on the broker (all clients fail from that time on) or at the client (one does). Proved by handshakes of others
at the same listener; TLS 1.3 encrypts its certificates and most alerts.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_sentence


def _sentence(failure: Failure, times: Times) -> str:
    said = f"A TLS handshake failed: {failure.subject}" if failure.misuse is None else misuse_sentence(failure.misuse)
    return f"{said} {times.of(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.misuse is None:
        yield clients(f"Compare certificates, authorities, versions and cipher suites of both: {failure.subject}.")
    else:
        yield from what_fits(failure.misuse, observed)


TLS_FAILED = Kind(
    "tls_failed",
    "TLS handshake failed",
    sentence=_sentence,
    advice=_advice,
    known="TLS alerts, and what the handshakes show",
    place="listener",
    of_clients=True,
)
