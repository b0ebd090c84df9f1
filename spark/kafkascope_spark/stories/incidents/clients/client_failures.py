"""Failures of clients that stalled by themselves, from the rows of their silences (silent_client)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS

Departure = tuple[DepartedMember, RebalanceRow]
APART_NS = 30 * SECOND
"""Pauses of a client that are further apart than this are separate incidents."""
TOGETHER_NS = SECOND
"""Clients whose pauses begin and end within this time of each other were paused together; so were hosts that were
silent."""
AFTER_SILENCE = errors_about(
    "membership", "static membership", "group", "connection", "producer epoch", "transaction", "fetch session"
)
"""Errors that a client may get after a pause: its group removed it, brokers closed its connections, its transaction was
aborted."""


def client_failures(silent: Iterable[SilentClient], rebalances: Sequence[RebalanceRow]) -> list[Failure]:
    """Returns the failures in order of time, each with the rebalances in which a group removed one of its clients. A
    client that leaves its group at the end of the pause was closing and is left out (kafkajs waits for its last Fetch
    first)."""
    found: list[Failure] = []
    recent: list[Failure] = []
    went_on_without = _by_departed(rebalances)
    stopped = (row for row in silent if not _was_closing(row, went_on_without[row.client_instance_id]))
    for row in sorted(stopped, key=lambda r: (r.from_ns, r.client_instance_id)):
        recent = [f for f in recent if row.from_ns - f.silences[0].from_ns <= TOGETHER_NS]
        together = next((f for f in recent if _end_together(f.silences[0], row)), None)
        if together is None:
            together = Failure(CLIENT, "", row.from_ns, row.to_ns)
            found.append(together)
            recent.append(together)
        together.silences.append(row)
        together.client_instance_ids.add(row.client_instance_id)
        together.end_ns = None if row.to_ns is None else max(together.end_ns or 0, row.to_ns)
        if row.due_kind == "read":
            until_ns = row.shown_ns if row.to_ns is None else row.to_ns
            together.waited_ms = max(together.waited_ms, (until_ns - row.due_ns) // 1_000_000)
    found = _of_one_time(found)
    for failure in found:
        failure.hosts = frozenset(row.client_ip for row in failure.silences)
        failure.subject = _subject(failure)
        pairs = (
            (silence, each) for silence in failure.silences for each in went_on_without[silence.client_instance_id]
        )
        by_id = {each[1].rebalance_id: each[1] for silence, each in pairs if _went_on_without(*each, silence)}
        failure.rebalances = sorted(by_id.values(), key=lambda r: (r.start_ns or 0, r.rebalance_id))
    return found


def _of_one_time(failures: Iterable[Failure]) -> list[Failure]:
    """Joins failures of the same clients that follow each other within APART_NS: a process that is stopped again and
    again is so for one reason."""
    found: list[Failure] = []
    last_of: dict[frozenset[str], Failure] = {}
    for failure in failures:
        who = frozenset(failure.client_instance_ids)
        last = last_of.get(who)
        if last is None or last.end_ns is None or failure.start_ns - last.end_ns > APART_NS:
            last_of[who] = failure
            found.append(failure)
            continue
        last.silences += failure.silences
        last.end_ns = failure.end_ns
        last.waited_ms = max(last.waited_ms, failure.waited_ms)
    return found


def pauses_of(failure: Failure) -> list[tuple[int, int]]:
    """Returns begin and end of each pause of the clients of a failure; empty for other failures."""
    return [(silence.from_ns, FOREVER if silence.to_ns is None else silence.to_ns) for silence in failure.silences]


def _by_departed(rebalances: Iterable[RebalanceRow]) -> dict[str | None, list[Departure]]:
    """Returns the departures from groups, each with its rebalance, by client_instance_id."""
    found: dict[str | None, list[Departure]] = defaultdict(list)
    for rebalance in rebalances:
        for departed in rebalance.departed:
            found[departed.client_instance_id].append((departed, rebalance))
    return found


def _was_closing(silence: SilentClient, departures: Iterable[Departure]) -> bool:
    """Whether the client left a group right after the pause."""
    over_ns = silence.to_ns
    return over_ns is not None and any(
        departed.left and 0 <= (rebalance.start_ns or 0) - over_ns <= TOGETHER_NS for departed, rebalance in departures
    )


def _end_together(silence: SilentClient, other: SilentClient) -> bool:
    if silence.to_ns is None or other.to_ns is None:
        return silence.to_ns is other.to_ns
    return abs(silence.to_ns - other.to_ns) <= TOGETHER_NS


def _subject(failure: Failure) -> str:
    return listed(sorted({client(s.client_id, s.client_ip) for s in failure.silences}))


def _went_on_without(departed: DepartedMember, rebalance: RebalanceRow, silence: SilentClient) -> bool:
    """Whether the group removed the client, and the member's last request came before the silence."""
    began_ns = rebalance.start_ns or 0
    return bool(
        not departed.left
        and (departed.last_seen_ns or 0) <= silence.from_ns + SECOND
        and began_ns >= silence.from_ns
        and (silence.to_ns is None or began_ns <= silence.to_ns + FOLLOWS_NS)
    )


def groups_of(failure: Failure) -> Iterator[str]:
    """Yields the groups of the silent clients, and the groups that removed clients of the failure."""
    for silence in failure.silences:
        yield from silence.groups
    yield from (rebalance.group_id for rebalance in failure.rebalances)
