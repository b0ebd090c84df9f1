"""Client processes that ended without a clean close: killed, crashed, or with a library that does not leave its group.

Looks at how the last connections of a client ended: its host's kernel closes all of them at once. A process that closes
leaves its groups first (LeaveGroup), and reads the responses that it waits for (else the kernel sends RST). Could be
confused with a host that was switched off only if its connections were closed all the same.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import held_consumers
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    several = len(failure.client_instance_ids) > 1
    ended = f"{failure.subject} ended without a clean close at {times.with_time_of_day(failure.start_ns)}"
    closed = "all connections were closed at once"
    how = "without a request to leave or before responses were read"
    if failure.left_open:
        ids = listed(sorted({str(row.transactional_id) for row in failure.left_open}))
        how = f"while {'transactions' if len(failure.left_open) > 1 else 'the transaction'} of {ids} {_held(failure)}"
    return f"Client{'s' if several else ''} {ended}: {closed}, {how}"


def _held(failure: Failure) -> str:
    """Returns that transactions were open, and how many consumers they held back."""
    verb = "were" if len(failure.left_open) > 1 else "was"
    held = held_consumers(failure)
    return f"{verb} open{held and f', which held back {held}'}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"Find out what ended {failure.subject}: a crash, SIGKILL, an out-of-memory kill (dmesg), an orchestrator that "
        "did not wait (terminationGracePeriodSeconds)."
    )
    for row in failure.left_open[:1]:
        yield clients(
            "Who reads committed records waits until the coordinator aborts such a transaction"
            f"{_after(row.transaction_timeout_ms)}: a lower transaction.timeout.ms of its producer ends that sooner."
        )
    if any(client.session_timeout_ms for client in observed.clients):
        yield clients(
            "Until the session of such a member times out, nobody reads its partitions: let consumers close()."
        )
        others = settings(("instance_id",), observed.libraries)
        yield clients(
            f"With {others} one that starts again within its session gets its partitions back." if others else ""
        )


def _after(timeout_ms: int | None) -> str:
    """Returns when the coordinator aborts a transaction; empty if the timeout is not known."""
    return "" if timeout_ms is None else f" ({timeout_ms} ms after it began)"


CLIENT_DIED = Kind(
    "client_died",
    "client process died",
    plural="client processes died",
    sentence=_sentence,
    advice=_advice,
    known="how the last connections of the client ended",
    place="client",
)
