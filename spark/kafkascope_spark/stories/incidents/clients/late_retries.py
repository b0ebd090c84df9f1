"""Clients that paused long after an error that was over after a moment, from stalls that nothing else explains."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.late_retry import LATE_RETRY
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import Stall

_NS_PER_MS = 1_000_000


def late_retries(stalls: Iterable[Stall], recoveries: Iterable[ClientRecovery]) -> Iterator[Failure]:
    """Yields one failure for each client that paused for half of its stall or more before it sent again what a broker
    had refused, and succeeded. stalls: those without an explanation."""
    of_client: dict[str, list[ClientRecovery]] = defaultdict(list)
    for row in recoveries:
        if row.outcome == "recovered" and _paused_ns(row) > 0:
            of_client[row.client_instance_id].append(row)
    found: dict[str, Failure] = {}
    for stall in stalls:
        name = stall.client_instance_id or ""
        explaining = [row for row in of_client.get(name, ()) if _explains(row, stall)]
        if not explaining:
            continue
        first = explaining[0]
        failure = found.get(name)
        if failure is None:
            subject = client(first.client_id, first.client_ip)
            failure = found[name] = Failure(LATE_RETRY, subject, first.start_ns, first.start_ns)
        failure.stalls.append(stall)
        for row in explaining:
            if row not in failure.recoveries:
                failure.take_error(row)
    yield from found.values()


def _paused_ns(recovery: ClientRecovery) -> int:
    """Returns how long the client waited after its last error before it tried again; 0 if it was not refused, or tried
    again before."""
    is_refused = recovery.first_api_key is not None and recovery.retried_ns is not None
    return max((recovery.retried_ns or 0) - recovery.last_failed_ns, 0) if is_refused else 0


def _explains(recovery: ClientRecovery, stall: Stall) -> bool:
    """Whether the client got the error of the stall during it, and paused for half of the stall or more."""
    is_during = stall.from_ns <= recovery.start_ns and (stall.to_ns is None or recovery.start_ns <= stall.to_ns)
    is_its = not stall.error_names or recovery.first_error_name in stall.error_names
    return is_during and is_its and 2 * _paused_ns(recovery) >= stall.waited_ms * _NS_PER_MS
