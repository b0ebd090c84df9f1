"""Waits of records of a topic-partition to be fetched by a group, from the events of all its members."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.services import FetchRun
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.stall import Wait

SOON_NS = 1_000_000_000
"""Members of a group get their partitions at the same time: all living members read again within this time."""
AWAY_NS = 60_000_000_000
"""Time after the end of a member in which another one is expected to take over."""
CLOSE_NS = 10_000_000_000
"""Longest time of a normal close: a consumer stops reading, commits and leaves its group. If that takes longer, because
the coordinator does not respond or the process hangs, it is a stall."""
HEARTBEAT_NS = 3_000_000_000
"""Time in which the other members learn that one has left: the heartbeat interval, three seconds by default in all
libraries."""


class Reads:
    """Times at which each client of a group received records of any topic-partition. runs: runs of the group."""

    def __init__(self, runs: Iterable[FetchRun]) -> None:
        self._firsts: dict[str, list[int]] = defaultdict(list)
        times = sorted((run.first_ns, run.last_ns, run.client_instance_id) for run in runs)
        lasts: dict[str, list[int]] = defaultdict(list)
        for first_ns, last_ns, client_instance_id in times:
            self._firsts[client_instance_id].append(first_ns)
            lasts[client_instance_id].append(last_ns)
        self._latest = {client: list(accumulate(ends, max)) for client, ends in lasts.items()}
        """By client, for each of its runs in order of begin, the latest end of the runs so far."""

    def any_of(self, client_instance_id: str, after_ns: int, until_ns: int) -> bool:
        """Whether the client received records between after_ns and until_ns, as far as the ends of its runs show."""
        n = bisect_right(self._firsts[client_instance_id], until_ns)
        return n > 0 and self._latest[client_instance_id][n - 1] > after_ns


def consume_waits(events: Sequence[FetchRun], members: Sequence[ServiceClient], reads: Reads) -> Iterator[Wait]:
    """Yields the waits. events: runs of all members.

    A wait begins when the first record that no member has is available, but not before the group's last progress. It
    ends when a member gets later records, or when the last member has closed: a group without members wants nothing,
    and the next member is a start. A consumer without a group chooses its partitions (Kafka Streams reads a changelog
    until its store is restored), so records that it never fetches do not wait.

    If a member begins again with the first record of the latest response, that response was not processed: its receiver
    ended, stalled or dropped it for a rebalance, and the group went on from the last commit; or its receiver was
    closing, and had committed less. If the receiver continues to read elsewhere, it had processed the response: the
    record is read twice and did not wait. Members of a share group get the same batch several times, each with other
    records of it to process."""
    runs = sorted(events, key=lambda run: (run.first_ns, run.next_offset))
    latest, lowest, progress_ns = runs[0], runs[0].first_offset, runs[0].last_ns
    shares = any(member.shares for member in members)
    earlier_ns = 0
    """Time of the last progress before the latest run."""
    for run in runs[1:]:
        is_again = not shares and (_reads_again(run, latest) or _was_closing(run, latest, members))
        is_lost = is_again and not _lives_on(run, latest, reads)
        if is_lost and not any(_goes_on(later, latest, run) for later in runs):
            undone = replace(latest, next_accepted_ns=latest.last_answer_accepted_ns)
            yield from _wait(undone, max(earlier_ns, latest.before_last_ns), run, members)
            earlier_ns, latest = max(earlier_ns, latest.before_last_ns), max(latest, run, key=_end)
            progress_ns = max(progress_ns, run.last_ns)
            continue
        is_reset = run.next_offset <= latest.next_offset and run.first_offset <= lowest
        if run.next_offset <= latest.next_offset and not is_reset:
            continue
        yield from _wait(latest, progress_ns, run, members)
        earlier_ns = progress_ns
        latest, lowest = run, min(lowest, run.first_offset)
        progress_ns = max(progress_ns, run.last_ns)
    if any(member.group_id is not None for member in members):
        yield from _wait(latest, progress_ns, None, members)


def _reads_again(run: FetchRun, latest: FetchRun) -> bool:
    """Whether a run begins with the first record of the latest response, after that response."""
    if latest.last_answer_accepted_ns is None:
        return False
    return bool(run.first_offset == latest.last_answer_offset and run.first_ns > latest.last_ns)


def _was_closing(run: FetchRun, latest: FetchRun, members: Sequence[ServiceClient]) -> bool:
    """Whether the receiver of the latest response was about to close, and another member begins with that response or
    before. A closing member commits what it has processed, and the next member continues from there."""
    if latest.last_answer_accepted_ns is None or run.first_offset > (latest.last_answer_offset or 0):
        return False
    receiver = next((m for m in members if m.client_instance_id == latest.client_instance_id), None)
    if receiver is None or not receiver.closed or receiver.left_ns is None:
        return False
    return bool(latest.last_ns <= receiver.left_ns <= min(latest.last_ns + SOON_NS, run.first_ns))


def _lives_on(run: FetchRun, latest: FetchRun, reads: Reads) -> bool:
    """Whether a different client received the latest response and continues to read with the rest of the group."""
    receiver = latest.client_instance_id
    if receiver == run.client_instance_id:
        return False
    since_ns = max(latest.last_ns, run.first_ns - SOON_NS)
    return reads.any_of(receiver, since_ns, run.first_ns + SOON_NS)


def _goes_on(later: FetchRun, latest: FetchRun, run: FetchRun) -> bool:
    """Whether the earlier member continues after its latest response and gets further than the other one: then it had
    processed that response, and the other one is a removed member that does not know it yet."""
    if run.client_instance_id == latest.client_instance_id:
        return False
    is_same = later.client_instance_id == latest.client_instance_id and later.first_ns > run.first_ns
    return bool(is_same and later.first_offset == latest.next_offset and later.next_offset > run.next_offset)


def _end(run: FetchRun) -> tuple[int, int]:
    """Returns the sort key of runs by the offset that they reached, then by time."""
    return run.next_offset, run.first_ns


def _wait(
    latest: FetchRun, progress_ns: int, following: FetchRun | None, members: Sequence[ServiceClient]
) -> Iterator[Wait]:
    """Yields the wait after a run, until the following run, which has later records."""
    since_ns = latest.next_accepted_ns
    if since_ns is None:
        return
    from_ns = max(since_ns, progress_ns, (following and following.held_until_ns) or 0)
    to_ns = following.first_ns if following is not None else _end_of_group(members)
    void_ns = _without_members_ns(members, from_ns)
    if void_ns is not None and (to_ns is None or void_ns < to_ns):
        to_ns = void_ns
    if to_ns is not None and (to_ns <= from_ns or _is_closing(members, latest.client_instance_id, from_ns, to_ns)):
        return
    requests = [(latest.last_ns, latest.last_request_id)]
    served = following is not None and to_ns == following.first_ns
    if following is not None and served:
        requests.append((following.first_ns, following.request_id))
    reader = following or latest
    yield Wait(
        from_ns,
        to_ns,
        reader.client_instance_id,
        latest.node_id,
        requests=tuple(requests),
        progress_ns=progress_ns,
        served=served,
        unasked_ns=_unasked_ns(latest, following if served else None, from_ns, members if to_ns is None else ()),
    )


def _unasked_ns(latest: FetchRun, following: FetchRun | None, from_ns: int, members: Sequence[ServiceClient]) -> int:
    """Returns how long of a wait no Fetch of the client was in flight for the records; 0 if another member had the
    partition before, which had to be handed over first. If the wait is not over at the end of the capture: the whole
    wait, if the client sent no Fetch any more. members: those that may still fetch, if the wait is not over."""
    if following is None:
        reader = next((m for m in members if m.client_instance_id == latest.client_instance_id), None)
        asked_ns = reader.last_fetch_ns if reader is not None and reader.left_ns is None else None
        return FOREVER if asked_ns is not None and asked_ns < latest.last_ns else 0
    if following.asked_ns is None or following.client_instance_id != latest.client_instance_id:
        return 0
    return max(min(following.asked_ns, following.first_ns) - from_ns, 0)


def _is_closing(members: Sequence[ServiceClient], reader: str, from_ns: int, to_ns: int) -> bool:
    """Whether the wait ended because all members closed, and none sent Fetch or JoinGroup in it: they had stopped
    reading. A member that still joins wanted to continue. One that still reads its own partitions when the reader of
    these has left may close before it learns of that. reader: client_instance_id of the last reader."""
    living = [m for m in members if m.first_ns <= to_ns and (m.left_ns is None or m.left_ns >= from_ns)]
    gone_ns = next((m.left_ns for m in members if m.client_instance_id == reader and m.closed), None)
    unaware = gone_ns is not None and gone_ns <= from_ns + SOON_NS and to_ns - gone_ns <= HEARTBEAT_NS
    return bool(living) and all(_closes(m, unaware and m.client_instance_id != reader, from_ns, to_ns) for m in living)


def _closes(member: ServiceClient, is_unaware: bool, from_ns: int, to_ns: int) -> bool:
    """Whether a member closed, and had stopped reading before. is_unaware: whether it need not know yet that the
    partition waits for a reader."""
    if not member.closed or member.left_ns is None or member.left_ns > to_ns:
        return False
    if is_unaware and (member.last_join_ns or 0) <= from_ns:
        return True
    last_ns = max(member.last_fetch_ns or member.first_ns, member.last_join_ns or 0)
    return last_ns <= from_ns + SOON_NS and member.left_ns - last_ns <= CLOSE_NS


def _end_of_group(members: Sequence[ServiceClient]) -> int | None:
    """Returns when the last member ended in any way; None if one did not end by the end of the capture."""
    ends = [member.left_ns for member in members]
    return None if None in ends else max((end for end in ends if end is not None), default=None)


def _without_members_ns(members: Sequence[ServiceClient], from_ns: int) -> int | None:
    """Returns the first time from from_ns on at which all members have ended and no other has begun; None for never. A
    member that died did not end on purpose: it counts for AWAY_NS longer, in which another should take over."""
    covered_ns = from_ns
    for member in sorted(members, key=lambda each: each.first_ns):
        if member.first_ns <= covered_ns:
            if member.left_ns is None:
                return None
            covered_ns = max(covered_ns, member.left_ns + (0 if member.closed else AWAY_NS))
    return covered_ns
