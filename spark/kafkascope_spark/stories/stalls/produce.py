"""When the records of a producer waited to be accepted, from the events of one client at one topic-partition."""

from collections.abc import Iterator, Sequence

from kafkascope_parsers.schema import error_codes, error_name, is_retriable
from kafkascope_spark.stories.model import Row
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.stall import Wait

GIVE_UP_NS = 30_000_000_000
"""A batch that is not accepted and not sent again is given up after as long (request.timeout.ms of Kafka's clients)."""
_RETRIABLE = frozenset(error_name(code) for code in error_codes() if is_retriable(code))


def produce_waits(events: Sequence[Row], client: ServiceClient | None) -> Iterator[Wait]:
    """The waits. events: structs of produce_wait. A batch waits from its creation until it is accepted; one that is not
    accepted until the next one is. What waited before the client's first success belongs to its start."""
    started_ns = client.first_accepted_ns if client is not None else None
    if started_ns is None:
        return
    accepted = sorted((e for e in events if e["accepted_ns"] is not None), key=lambda e: e["accepted_ns"])
    for event in events:
        if event["created_ns"] is None or _is_late_copy(event, accepted):
            continue
        to_ns, served = event["accepted_ns"], True
        if to_ns is None:
            to_ns, served = _end_of_failed(event, accepted, client)
        from_ns = max(event["created_ns"], started_ns)
        if to_ns is None or to_ns > from_ns:
            yield Wait(
                from_ns,
                to_ns,
                event["client_instance_id"],
                event["node_id"],
                event["n"],
                frozenset([event["error_name"]] if event["error_name"] else ()),
                _requests(event),
                longest_ns=event["longest_ns"],
                served=served,
            )


def _is_late_copy(event: Row, accepted: Sequence[Row]) -> bool:
    """Whether batches that nobody answered were created in a wait that was over before they were first seen: the client
    had sent them again on another connection, and its kernel still had the first copies in the send buffer of the one
    that it had given up."""
    if event["accepted_ns"] is not None or event["ended_ns"] is not None:
        return False
    return any(
        each["created_ns"] is not None
        and each["created_ns"] <= event["created_ns"] <= each["accepted_ns"] < event["sent_ns"]
        for each in accepted
    )


def _requests(event: Row) -> tuple[tuple[int, str], ...]:
    ends = (event["sent_ns"], event["request_id"]), (event["last_sent_ns"], event["last_request_id"])
    return tuple(dict.fromkeys(ends))


def _end_of_failed(event: Row, accepted: Sequence[Row], client: ServiceClient | None) -> tuple[int | None, bool]:
    """When the wait for a batch that was not accepted ended, and whether the next batch was accepted then: else the
    client had given up or left. None where it still waits at the end of the capture."""
    last_ns: int = max(event["ended_ns"] or 0, event["last_sent_ns"])
    following = next((e for e in accepted if _follows(e, event, last_ns)), None)
    if event["error_name"] is not None and event["error_name"] not in _RETRIABLE:
        return (min(last_ns, following["accepted_ns"]), True) if following is not None else (last_ns, False)
    if following is None:
        return (client.left_ns if client is not None else None), False
    begun_ns = following["created_ns"] or following["accepted_ns"]
    return (int(following["accepted_ns"]), True) if begun_ns - last_ns < GIVE_UP_NS else (last_ns, False)


def _follows(accepted: Row, failed: Row, last_ns: int) -> bool:
    """Whether an accepted batch was sent after one that failed. The failed one may be answered long after it was sent
    again on another connection; where it is not known when a batch was sent, only what comes after that answer is."""
    if accepted["sent_ns"] is None:
        return bool(accepted["accepted_ns"] > last_ns)
    return bool(accepted["sent_ns"] > failed["last_sent_ns"])
