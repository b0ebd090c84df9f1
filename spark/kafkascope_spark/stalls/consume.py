"""When records of a topic-partition waited to be fetched by a group, from the events of all its members."""

from collections.abc import Iterable, Iterator, Sequence

from kafkascope_spark.model import Row
from kafkascope_spark.stalls.clients import ServiceClient
from kafkascope_spark.stalls.stall import Wait


def consume_waits(events: Sequence[Row], members: Iterable[ServiceClient]) -> Iterator[Wait]:
    """The waits. events: structs of fetch_run of all members. The group waits from when the first record that no member
    has is there, but not from before its last progress, until a member gets later records."""
    runs = sorted(events, key=lambda run: (run["first_ns"], run["next_offset"]))
    latest, lowest, progress_ns = runs[0], runs[0]["first_offset"], runs[0]["last_ns"]
    for run in runs[1:]:
        is_reset = run["next_offset"] <= latest["next_offset"] and run["first_offset"] <= lowest
        if run["next_offset"] <= latest["next_offset"] and not is_reset:
            continue
        yield from _wait(latest, progress_ns, run["first_ns"], run)
        latest, lowest = run, min(lowest, run["first_offset"])
        progress_ns = max(progress_ns, run["last_ns"])
    left = [member.left_ns for member in members]
    yield from _wait(latest, progress_ns, None if None in left or not left else max(x for x in left if x), None)


def _wait(latest: Row, progress_ns: int, to_ns: int | None, following: Row | None) -> Iterator[Wait]:
    """The wait after a run, for what comes next."""
    since_ns = latest["next_accepted_ns"]
    if since_ns is None:
        return
    from_ns = max(since_ns, progress_ns)
    if to_ns is not None and to_ns <= from_ns:
        return
    requests = [(latest["last_ns"], latest["last_request_id"])]
    if following is not None:
        requests.append((following["first_ns"], following["request_id"]))
    reader = following or latest
    yield Wait(from_ns, to_ns, reader["client_instance_id"], latest["node_id"], None, frozenset(), tuple(requests))
