"""Waits of a producer's records to be accepted, from the events of one client at one topic-partition."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.services import ProduceWait
from kafkascope_parsers.error_facts import FATAL
from kafkascope_parsers.schema import error_codes, error_name, is_retriable
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.stall import Wait

GIVE_UP_NS = 30_000_000_000
"""A batch that is not accepted and not sent again for this time was given up (request.timeout.ms of Kafka's
clients)."""
_RETRIABLE = frozenset(error_name(code) for code in error_codes() if is_retriable(code))


class _Accepted(NamedTuple):
    """A batch that was accepted. created_ns, sent_ns: None where only the acceptance is known."""

    at_ns: int
    created_ns: int | None
    sent_ns: int | None


def produce_waits(events: Sequence[ProduceWait], client: ServiceClient | None) -> Iterator[Wait]:
    """Yields the waits. A batch waits from its creation until it is accepted; if it is not accepted, until the next
    batch is. Waits before the client's first success belong to its start."""
    started_ns = client.first_accepted_ns if client is not None else None
    if started_ns is None:
        return
    found = (_Accepted(e.accepted_ns, e.created_ns, e.sent_ns) for e in events if e.accepted_ns is not None)
    accepted = sorted(found, key=attrgetter("at_ns"))
    copies = dict(client.late_copies) if client is not None else {}
    for event in _parted(events, accepted):
        if event.created_ns is None or _is_late_copy(event, event.created_ns, accepted, copies):
            continue
        to_ns, served, n_failed = event.accepted_ns, True, 0
        if to_ns is None:
            to_ns, served = _end_of_failed(event, accepted, client)
            n_failed = (event.n_records or 0) if _is_given_up(event, to_ns, served, accepted) else 0
        from_ns = max(event.created_ns, started_ns)
        if to_ns is None or to_ns > from_ns:
            yield Wait(
                from_ns,
                to_ns,
                event.client_instance_id,
                event.node_id,
                event.n,
                frozenset([event.error_name] if event.error_name else ()),
                _requests(event),
                longest_ns=event.longest_ns,
                served=served,
                n_late=(event.n_records or 0) if event.accepted_ns is not None else 0,
                n_failed=n_failed,
            )


def _parted(events: Sequence[ProduceWait], accepted: Sequence[_Accepted]) -> Iterator[ProduceWait]:
    """Yields the events, where those of refused batches are divided in two if a batch was accepted between them: the
    first refused batch waited until then, and the last one waits from when it was sent. Nothing is known of the batches
    in between."""
    after = [each.at_ns for each in accepted if each.sent_ns is None]
    for event in events:
        first_ns, last_ns = event.sent_ns, event.last_sent_ns
        is_refused = event.accepted_ns is None and event.error_name is not None and event.n > 1
        between = bisect_right(after, first_ns) if first_ns is not None else len(after)
        if not is_refused or last_ns is None or between == len(after) or after[between] >= last_ns:
            yield event
            continue
        yield replace(event, last_sent_ns=first_ns, last_request_id=None, ended_ns=None, n=event.n - 1)
        yield replace(event, created_ns=last_ns, sent_ns=last_ns, request_id=event.last_request_id, n=1, n_records=0)


def _is_given_up(event: ProduceWait, to_ns: int | None, served: bool, accepted: Sequence[_Accepted]) -> bool:
    """Whether batches were refused for good, or the client gave up or ended before it was served again. False if a
    later accepted batch may hold the same records: it was created before them, or its creation is not known."""
    is_over = event.error_name in FATAL or (to_ns is not None and not served)
    sent_ns, created_ns = event.sent_ns or 0, event.created_ns or 0
    later = (each for each in accepted if each.at_ns > sent_ns)
    return is_over and not any(each.created_ns is None or each.created_ns <= created_ns for each in later)


def _is_late_copy(
    event: ProduceWait, created_ns: int, accepted: Sequence[_Accepted], copies: Mapping[str, int]
) -> bool:
    """Whether the client had already sent the batches again on another connection, while its kernel still had the first
    copies in the send buffer of the old connection: they are requests from then on (copies: conn_id -> time), or were
    not answered, and created in a wait that was over before they were first seen."""
    if event.accepted_ns is not None:
        return False
    from_ns = copies.get((event.request_id or "").rpartition("-")[0])
    if from_ns is not None and (event.sent_ns or 0) >= from_ns:
        return True
    if event.ended_ns is not None:
        return False
    return any(
        each.created_ns is not None and each.created_ns <= created_ns <= each.at_ns < (event.sent_ns or 0)
        for each in accepted
    )


def _requests(event: ProduceWait) -> tuple[tuple[int, str], ...]:
    ends = (event.sent_ns, event.request_id), (event.last_sent_ns, event.last_request_id)
    return tuple(
        dict.fromkeys((ns, request_id) for ns, request_id in ends if ns is not None and request_id is not None)
    )


def _end_of_failed(
    event: ProduceWait, accepted: Sequence[_Accepted], client: ServiceClient | None
) -> tuple[int | None, bool]:
    """Returns when the wait for a batch that was not accepted ended (None if it still waits at the end of the capture),
    and whether the next batch was accepted then; else the client gave up or ended."""
    last_ns = max(event.ended_ns or 0, event.last_sent_ns or 0)
    following = next((each for each in accepted if _follows(each, event, last_ns)), None)
    if event.error_name is not None and event.error_name not in _RETRIABLE:
        return (min(last_ns, following.at_ns), True) if following is not None else (last_ns, False)
    if following is None:
        return (client.left_ns if client is not None else None), False
    begun_ns = following.created_ns or following.at_ns
    return (following.at_ns, True) if begun_ns - last_ns < GIVE_UP_NS else (last_ns, False)


def _follows(accepted: _Accepted, failed: ProduceWait, last_ns: int) -> bool:
    """Whether an accepted batch was sent after a failed one. The failed one may be answered long after it was sent
    again on another connection. If the send time of the accepted batch is not known, it must come after that
    response."""
    if accepted.sent_ns is None:
        return accepted.at_ns > last_ns
    return accepted.sent_ns > (failed.last_sent_ns or 0)
