"""Clients that stalled: the stalls of one client for one service as one line of a table."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from kafkascope_analyzer.report.formatting import clock, count, safe, span, time_of_day
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.model import (
    GAVE_UP,
    NOT_CAPTURED,
    SERVED,
    STILL_OPEN,
    WAIT_OUTCOMES,
    Wait,
)
from kafkascope_spark.stories.stalls.table import Stall

MOST_WAITS = 50
MOST_IDS = 10
OVER = "over"
_BY_SERVED = {False: GAVE_UP, None: NOT_CAPTURED, True: SERVED}
_ENDED = {STILL_OPEN: "still waiting", GAVE_UP: "gave up or ended", NOT_CAPTURED: "then not captured", SERVED: OVER}
"""How stalls ended, in words."""
_SERVICES = {
    "produce": "produce to {subject}",
    "consume": "fetch from {subject}",
    "commit": "commit offsets of {subject}",
    "membership": "membership in {subject}",
    "transaction": "{subject}",
    "metadata": "metadata",
    "admin": "an admin request",
}
"""The service that a client waited for, by kind of stall."""


def waits_of(stalls: Iterable[Stall], facts: Facts, earlier: Iterable[Stall] = ()) -> tuple[Wait, ...]:
    """Returns the lines: stalls that are not over first, then the longest. earlier: stalls that another
    incident began."""
    made = [*_lines(stalls, facts, earlier=False), *_lines(earlier, facts, earlier=True)]
    return tuple(sorted(made, key=lambda wait: (wait.over, -wait.waited_ms, wait.from_ns, wait.who, wait.kind)))


def _lines(stalls: Iterable[Stall], facts: Facts, *, earlier: bool) -> Iterator[Wait]:
    """Yields one line for the stalls of one client for one service."""
    alike: dict[tuple[Any, ...], list[Stall]] = defaultdict(list)
    for stall in stalls:
        who = (stall.client_instance_id, stall.client_id, stall.group_id, stall.transactional_id)
        alike[stall.kind, *who].append(stall)
    for rows in alike.values():
        line = _wait(rows, facts)
        yield replace(line, what=f"{line.what}, since an earlier incident") if earlier else line


def longest_stalls(stalls: Iterable[Stall]) -> dict[str, str]:
    """Returns client_instance_id -> its longest stall in words: `stalled 29.1 s`; for a stall that did not end well,
    also how it ended: `stalled 29.1 s, still waiting`."""
    found: dict[str, list[Stall]] = defaultdict(list)
    for stall in stalls:
        if stall.client_instance_id:
            found[stall.client_instance_id].append(stall)
    texts = {}
    for identity, of_client in found.items():
        longest = span(1000 * max(stall.waited_ms for stall in of_client))
        ended = _ENDED[_outcome(of_client)]
        texts[identity] = f"stalled {longest}{'' if ended == OVER else f', {ended}'}"
    return texts


def _outcome(stalls: Iterable[Stall]) -> str:
    """Returns how the stalls of one client ended: the first of WAIT_OUTCOMES that one of them has."""
    ended = {STILL_OPEN if s.to_ns is None else _BY_SERVED[s.served] for s in stalls}
    return next(outcome for outcome in WAIT_OUTCOMES if outcome in ended)


def _wait(alike: list[Stall], facts: Facts) -> Wait:
    alike = sorted(alike, key=lambda s: (s.to_ns is not None, -s.waited_ms, s.from_ns, s.stall_id))
    longest = alike[0]
    waiting = sum(stall.to_ns is None for stall in alike)
    return Wait(
        who=safe(who_waited(longest, facts)),
        client_instance_id=longest.client_instance_id,
        group_id=longest.group_id,
        kind=longest.kind,
        what=what_waited(longest) + (f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""),
        from_ns=longest.from_ns,
        to_ns=longest.to_ns,
        at=clock(longest.from_ns - facts.start_ns),
        of_day=time_of_day(longest.from_ns),
        waited_ms=longest.waited_ms,
        lasted=span(1000 * longest.waited_ms),
        over=not waiting,
        outcome=_outcome(alike),
        state=_state(alike),
        n_attempts=sum(stall.n_attempts or 0 for stall in alike),
        error_names=tuple(sorted({error for stall in alike for error in stall.error_names})),
        n_stalls=len(alike),
        stall_ids=tuple(stall.stall_id for stall in alike[:MOST_IDS]),
    )


def stalled_names(stalls: Iterable[Stall], facts: Facts) -> dict[str, str]:
    """Returns the clients that waited: key -> name. The key is the client instance, else the name."""
    return {stall.client_instance_id or who_waited(stall, facts): who_waited(stall, facts) for stall in stalls}


def who_waited(stall: Stall, facts: Facts) -> str:
    """Returns the client id, else the client's address, else the group."""
    if stall.client_id:
        return stall.client_id
    if stall.client_instance_id:
        return facts.name(stall.client_instance_id)
    return f"group {stall.group_id}" if stall.group_id else "unknown client"


def what_waited(stall: Stall) -> str:
    """Returns the service with its subject: `produce to clicks-0`, `fetch from clicks-0 (group readers)`."""
    group = f"group {safe(stall.group_id)}" if stall.group_id else ""
    subject = group
    if stall.topic is not None:
        subject = safe(stall.topic) + ("" if stall.partition is None else f"-{stall.partition}")
    elif stall.claimed:
        subject = "an encrypted topic (inferred)"
    elif stall.transactional_id is not None:
        subject = f"transactional id {safe(stall.transactional_id)}"
    service = _SERVICES.get(stall.kind, "{subject}").format(subject=subject or "an unknown subject")
    return f"{service} ({group})" if group and subject != group else service


def wait_text(stall: Stall) -> str:
    """Returns how long the client waited, how that ended where it was not served, and for which service: `5.11 s:
    produce to clicks-0`."""
    state = _state([stall])
    return f"{span(1000 * stall.waited_ms)}{'' if state == OVER else f', {state}'}: {what_waited(stall)}"


def _state(stalls: Sequence[Stall]) -> str:
    """Returns how some stalls ended, in words."""
    outcome, n, waiting = _outcome(stalls), len(stalls), sum(stall.to_ns is None for stall in stalls)
    if waiting:
        return _ENDED[outcome] if n == waiting else f"{count(waiting, 'stall')} of {n:,} not over"
    return _ENDED[outcome]
