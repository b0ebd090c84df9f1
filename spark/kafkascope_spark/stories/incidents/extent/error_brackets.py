"""Begin and end of faults that only errors show: topic settings, permissions, quotas, log directories.

The fault had not begun when the same clients last succeeded with the requests that were refused later. It was over when
one of them succeeded again after the last error; if a broker has lost replicas, success at another broker does not show
the end."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.packets.successes import Before, Wanted
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

MOST_ASKED = 100
"""The earlier success is looked up for at most this many recoveries of a failure, those that began first."""
_NAMED = frozenset({"partition", "group", "transaction"})
"""Kinds of resources that requests name."""


def give_error_brackets(failures: Iterable[Failure], ask: Callable[[Sequence[Before]], list[int | None]]) -> None:
    """Sets the times of the fault of each failure that only errors show. ask: returns for each question when a matching
    request last succeeded, None if none did."""
    shown = [failure for failure in failures if _is_shown_by_errors(failure)]
    questions = [_before(failure) for failure in shown]
    for failure, question, success_ns in zip(shown, questions, ask(questions), strict=True):
        last_ns = max(row.last_failed_ns for row in failure.recoveries)
        again = (row.recovered_ns for row in failure.recoveries if row.recovered_ns is not None)
        over_ns = min((at_ns for at_ns in again if at_ns >= last_ns and not failure.kind.holds_replicas), default=None)
        failure.fault = Fault(success_ns, question.at_ns, last_ns, over_ns)


def _is_shown_by_errors(failure: Failure) -> bool:
    is_otherwise = failure.fault or failure.states or failure.silences or failure.misuse or failure.lookups
    kind = failure.kind
    by_reports = kind.is_move or (kind.serves_on and not kind.holds_replicas)
    return bool(kind.errors and failure.error_names and failure.recoveries and not (is_otherwise or by_reports))


def _before(failure: Failure) -> Before:
    mine = [row for row in failure.recoveries if row.first_error_name in failure.error_names]
    first = sorted(mine, key=lambda row: (row.start_ns, row.recovery_id))
    wanted = (each for row in islice(first, MOST_ASKED) if (each := _wanted(row)) is not None)
    return Before(first[0].start_ns, frozenset(wanted))


def _wanted(recovery: ClientRecovery) -> Wanted | None:
    if recovery.first_api_key is None or recovery.client_ip is None:
        return None
    resource = recovery.resource if recovery.resource_kind in _NAMED else ""
    return Wanted(recovery.client_ip, recovery.client_id, recovery.first_api_key, resource)
