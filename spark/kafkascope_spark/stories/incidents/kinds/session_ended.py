"""Clients that do not authenticate again before their SASL session ends: brokers close the connection at their next
request (KIP-368).

Looks at connections that brokers closed on a request after the lifetime of the SASL session. Could be confused with a
broker that closes connections at about that time for another reason.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times


def _lifetime_ms(failure: Failure) -> int:
    return max((row.session_ms for row in failure.recoveries if row.session_ms is not None), default=0)


def _sentence(failure: Failure, times: Times) -> str:
    closed = [row for row in failure.recoveries if row.resource_kind == "connection"]
    return (
        f"{failure.subject} did not authenticate again within the {duration(_lifetime_ms(failure) * 1_000_000)} that a "
        f"SASL session lasts: brokers closed {counted(max(len(closed), 1), 'connection')} at its next request, "
        f"{times.of(failure)}"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield clients("Upgrade the client to one that re-authenticates (KIP-368); until then it has to connect again.")
    yield brokers(
        f"Or raise connections.max.reauth.ms of the brokers (the session lasts {_lifetime_ms(failure)} ms now; a token "
        "that expires sooner shortens it), or set it to 0."
    )


SESSION_ENDED = Kind(
    "session_ended",
    "SASL session ended",
    plural="SASL sessions ended",
    sentence=_sentence,
    advice=_advice,
    known="when brokers closed connections, and how long SASL sessions last",
    place="client",
    own_clients=True,
)
