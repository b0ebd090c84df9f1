"""Client processes that ended without a clean close: killed, crashed, or left by a library that does not say goodbye.

Looks at how the last connections of a client ended: its host's kernel closes all of them at once. A process that closes
leaves its groups first (LeaveGroup), and reads what it has asked for (else the kernel sends RST). Could be confused
with a host that was switched off only where its connections were closed all the same.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    several = len(failure.client_instance_ids) > 1
    ended = f"{failure.subject} ended without a clean close at {times.with_time_of_day(failure.start_ns)}"
    closed = "all connections were closed at once"
    return f"Client{'s' if several else ''} {ended}: {closed}, without a request to leave or before responses were read"


def _advice(failure: Failure, observed: Observed) -> Iterable[str]:
    yield (
        f"Find out what ended {failure.subject}: a crash, SIGKILL, an out-of-memory kill (dmesg), an orchestrator that "
        "did not wait (terminationGracePeriodSeconds)."
    )
    if any(client.session_timeout_ms for client in observed.clients):
        yield "Until the session of such a member times out, nobody reads its partitions: let consumers close()."
        others = settings(("instance_id",), observed.libraries)
        yield f"With {others} one that starts again within its session gets its partitions back." if others else ""


CLIENT_DIED = Kind(
    "client_died",
    "client process died",
    plural="client processes died",
    sentence=_sentence,
    advice=_advice,
    known="how the last connections of the client ended",
    place="client",
)
