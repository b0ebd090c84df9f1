"""Records that a producer sent on a connection that the server closed before it answered, and that the producer did not
send again.

Looks at Produce requests without a response on connections that the server closed, and at what the producer sent to the
same topic-partitions later. Could be confused with records that were written before the server closed, which only the
log shows; and with a capture that lacks the later requests. The number of lost records is a lower limit; whether other
records arrived is not claimed.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.settings import settings

_OFTEN, _AT_ONCE_NS = 3, 1_000_000_000
"""A server that closes this many connections within this time after a request does not accept that request."""
_IDLE_MS = 10_000
"""A connection that was idle this long when the server closed it was closed because it was idle."""


def _sentence(failure: Failure, times: Times) -> str:
    lost = [row for row in failure.recoveries if row.resource_kind == "partition"]
    n = sum(row.n_errors for row in lost)
    sent_ns = min((row.failing_ns or row.start_ns for row in lost), default=failure.start_ns)
    closed_ns = min((row.closed_ns for row in lost if row.closed_ns is not None), default=sent_ns)
    how = f"had closed at {times.at(closed_ns)}, {duration(sent_ns - closed_ns)} before"
    if closed_ns >= sent_ns:
        how = f"closed at {times.at(closed_ns)}, before it answered"
    what = f"{counted(n, 'record')} of {listed(sorted({row.resource for row in lost}))}"
    often = len(_closed_at_once(failure))
    each = f"; it closed {often} connections like that, each right after a request" if often >= _OFTEN else ""
    if failure.stalls:
        topics = listed(sorted({row.resource for row in lost}))
        return (
            f"{failure.subject} could not write to {topics} {times.of(failure)}: its requests went into connections "
            f"that {_server(failure)} closed before it answered, and what it sent again met the same{each}"
        )
    if failure.end_ns is not None and failure.end_ns - sent_ns >= SECOND:
        return (
            f"{failure.subject} lost at least {what} {times.of(failure)}: its requests went into connections that "
            f"{_server(failure)} closed before it answered; no response came, and nothing was sent again{each}"
        )
    return (
        f"{failure.subject} lost at least {what} at {times.with_time_of_day(sent_ns)}: the request went into a "
        f"connection that {_server(failure)} {how}; no response came, and nothing was sent again{each}"
    )


def _closed_at_once(failure: Failure) -> list[ClientRecovery]:
    """Returns the recoveries of connections that the server closed right after a request, without a response."""
    closed = (row for row in failure.recoveries if row.resource_kind == "connection" and row.closed_ns is not None)
    return [row for row in closed if 0 <= (row.closed_ns or 0) - (row.failing_ns or row.start_ns) <= _AT_ONCE_NS]


def _server(failure: Failure) -> str:
    """Returns the server that closed the connection, in words."""
    servers = listed(sorted({row.resource for row in failure.recoveries if row.resource_kind == "connection"}))
    if failure.node_id is None:
        return servers or "the broker"
    return f"node {failure.node_id} ({servers})" if servers else f"node {failure.node_id}"


def _idle_ms(failure: Failure) -> int | None:
    """Returns how long the connection was idle when the server closed it; None if unknown."""
    for row in failure.recoveries:
        if row.resource_kind == "connection" and row.idle_ms is not None and row.closed_ns is not None:
            return row.idle_ms - max((row.failing_ns or row.start_ns) - row.closed_ns, 0) // 1_000_000
    return None


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    topics = listed(sorted({row.resource for row in failure.recoveries if row.resource_kind == "partition"}))
    yield clients(f"Find out from {failure.subject} which records for {topics} it wrote then, and write them again.")
    if len(_closed_at_once(failure)) >= _OFTEN:
        yield clients(
            "The broker closes the connection when the request comes: it does not take this version of it (Kafka 4.0 "
            "removed old ones: upgrade the library, or remove a fixed version of brokers from its settings), it is "
            "larger than socket.request.max.bytes, or it is malformed."
        )
        yield brokers(f"The log of {_server(failure)} says at that time why it closes such connections.")
    idle_ms = _idle_ms(failure)
    if idle_ms is not None and idle_ms >= _IDLE_MS:
        sooner = settings(("max_idle",), observed.libraries)
        yield clients(
            f"The broker closed the connection after {duration(idle_ms * 1_000_000)} without a request "
            "(connections.max.idle.ms of the broker). Let the client read its connections while they are idle, so that "
            f"it notices the close, or give them up sooner than the broker does{f' ({sooner})' if sooner else ''}."
        )
    yield clients("Let it send again what had no response, and treat that as an error.")


LOST_RECORDS = Kind(
    "lost_records",
    "records lost",
    sentence=_sentence,
    advice=_advice,
    known="requests without a response on a connection that the server closed, and nothing sent again",
    place="client",
    loses_records=True,
)
