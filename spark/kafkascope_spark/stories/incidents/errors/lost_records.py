"""Records that were lost with a connection: a producer sent them, the server closed the connection before it answered,
and the producer did not send them again.

A library that waits for responses sends such a batch again on a new connection. One that does not read its connection
while it is idle does not see the server's FIN, and its next request goes into a connection that is closed at the other
end.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.error_facts import EPOCH_OVER, SERVER_CLOSED
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.lost_records import LOST_RECORDS
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import Stall

_PRODUCE_NAME = "Produce"
_NEVER_AGAIN = frozenset({"client_ended", "gave_up"})
"""Outcomes after which a client sends nothing again. A client that still waits at the end of the capture may send again
later."""


def lost_records(recoveries: Iterable[ClientRecovery]) -> Iterator[Failure]:
    """Returns the failures in order of time, one for each client and connection. recoveries: those that belong to no
    other failure, including those of connections, which hold how long the connections were idle."""
    of_cause: dict[tuple[str, str | None], list[ClientRecovery]] = defaultdict(list)
    for row in sorted(recoveries, key=lambda r: (r.start_ns, r.recovery_id)):
        if row.first_error_name in SERVER_CLOSED and row.closed_ns is not None:
            of_cause[row.client_instance_id, row.cause_id].append(row)
    for rows in of_cause.values():
        lost = [row for row in rows if is_of_lost_records(row)]
        if lost:
            first = lost[0]
            who = client(first.client_id, first.client_ip)
            failure = Failure(LOST_RECORDS, who, first.start_ns, _last_ns(lost, rows), node_id=first.old_node_id)
            failure.hosts = frozenset({first.client_ip} if first.client_ip is not None else ())
            for row in (*lost, *(row for row in rows if row.resource_kind == "connection")):
                failure.take_recovery(row)
                failure.error_names.add(row.first_error_name)
            yield failure


def _last_ns(lost: Sequence[ClientRecovery], rows: Iterable[ClientRecovery]) -> int:
    """Returns when the last request was lost. lost: recoveries of topic-partitions, which begin with the first loss;
    rows: all of the same cause. Those of connections have the others: one for each connection that was closed."""
    last_ns = lost[-1].start_ns
    if all(row.n_errors == 1 for row in lost):
        return last_ns
    closed = (row for row in rows if row.resource_kind == "connection" and row.failing_api == _PRODUCE_NAME)
    return max([last_ns, *(row.start_ns for row in closed)])


def give_waiting(failures: Iterable[Failure], stalls: Iterable[Stall]) -> list[Stall]:
    """Adds to each failure the stalls of its client at the topic-partitions that it wrote to: batches that it sent
    again were lost in the same way. Returns the stalls that belong to no failure."""
    known = list(failures)
    left = []
    for stall in stalls:
        place = f"{stall.topic}-{stall.partition}"
        of_it = (
            failure
            for failure in known
            if stall.kind == "produce"
            and stall.client_instance_id in failure.client_instance_ids
            and place in failure.resources
            and _met(failure, stall)
        )
        failure = next(of_it, None)
        if failure is None:
            left.append(stall)
            continue
        failure.stalls.append(stall)
        failure.start_ns = min(failure.start_ns, stall.from_ns)
        failure.end_ns = None if stall.to_ns is None or failure.end_ns is None else max(failure.end_ns, stall.to_ns)
    return left


def _met(failure: Failure, stall: Stall) -> bool:
    """Whether the server closed such a connection while the client waited: smaller batches may be taken in between, so
    that only the last batch of all is never sent again."""
    if failure.overlap_ns(stall.from_ns, stall.to_ns) >= 0:
        return True
    closed = (row.closed_ns for row in failure.recoveries if row.resource_kind == "connection")
    until_ns = FOREVER if stall.to_ns is None else stall.to_ns
    return any(at_ns is not None and stall.from_ns <= at_ns <= until_ns for at_ns in closed)


def is_of_lost_records(recovery: ClientRecovery) -> bool:
    """Whether the recovery shows lost records that the client did not send again."""
    is_produce = recovery.resource_kind == "partition" and recovery.first_api_key == PRODUCE
    return is_produce and recovery.recovered_ns is None and recovery.outcome in _NEVER_AGAIN


def is_final(recovery: ClientRecovery) -> bool:
    """Whether an error ended the client's work: it took the error as fatal, or ended without sending the refused
    records again. Fencing errors do not count: a correct application stops then."""
    ends = recovery.outcome == "fatal" or is_of_lost_records(recovery)
    return ends and recovery.first_error_name not in EPOCH_OVER
