"""Texts about members that a group removed or waited for: processes that ended, were silent, or joined late (kind
member)."""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.session_timeouts import (
    BROKER_SESSIONS,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.incidents.texts.texts import named, slow_polls
from kafkascope_spark.stories.settings import settings

_MOST_OF_SESSION = 2
"""A rebalance shorter than the session timeout divided by this waited for no member."""


def removed(failure: Failure, gone: list[DepartedMember], times: Times) -> str:
    """Returns why the group removed members. gone: these members."""
    who = listed(sorted({d.client_id or d.member_id for d in gone}))
    if failure.root is not None and failure.root.kind.of_host:
        return f"In {failure.subject}, {who} on {failure.root.subject} was removed from the group, {times.of(failure)}"
    if failure.root is not None:
        coordinator = f"the coordinator, {failure.root.subject}"
        return (
            f"In {failure.subject}, {who} did not reach {coordinator}, and was removed from the group, "
            f"{times.of(failure)}"
        )
    if all(map(_did_not_wait, _losing(failure))):
        return f"In {failure.subject}, {_removed_at_once(failure, who)}, {times.of(failure)}"
    if failure.members.dead:
        return waited_for_dead(failure, times)
    if all(map(_is_late_joiner, gone)):
        return (
            f"In {failure.subject}, {who} did not join again in time, {times.of(failure)}: it sent heartbeats, "
            "but its application did not poll, while the other members waited for it"
        )
    return f"In {failure.subject}, {who} stopped without leaving the group, {times.of(failure)}"


def waited_for_dead(failure: Failure, times: Times) -> str:
    """Returns which members had ended, and how long the coordinator keeps them in the group."""
    dead = failure.members.dead
    who = listed(sorted({client(each.client_id, each.client_ip) for each in dead}))
    ends = sorted(each.died_ns for each in dead if each.died_ns is not None)
    first = times.at(ends[0])
    ended = f"ended at {first}" if len(ends) == 1 else f"ended {times_of(len(ends))} from {first} on"
    session_ms = max((each.session_timeout_ms or 0 for each in dead), default=0)
    back = {(each.client_id, each.client_ip) for each in dead}
    came = any((s.client_id, s.client_ip) in back for s in failure.stalls)
    again = ", so that the restarted process, which is a new member, waits until then" if came else ""
    return (
        f"{named(failure)} was not read {times.of(failure)}: the process of {who} {ended} without leaving, "
        f"and the coordinator keeps it as a member until the session timeout ({session_ms} ms) is over{again}"
    )


def waited_for(failure: Failure) -> tuple[str, int] | None:
    """The member that joined last again, and for how long the others had to wait for it alone, where that was most of
    a rebalance; of several rebalances the one of the longest such wait."""
    found = []
    for row in failure.rebalances:
        joins = sorted((m.joined_ns, m.client_id or m.member_id) for m in row.members if m.joined_ns is not None)
        waited_ns = joins[-1][0] - joins[-2][0] if len(joins) > 1 else 0
        if waited_ns >= SECOND and waited_ns * 2 >= (row.duration_ms or 0) * 1_000_000:
            found.append((joins[-1][1], waited_ns))
    return max(found, key=lambda each: each[1], default=None)


def _losing(failure: Failure) -> list[RebalanceRow]:
    """Returns the rebalances in which the group lost members that had not left."""
    return [row for row in failure.rebalances if row.lost]


def _did_not_wait(rebalance: RebalanceRow) -> bool:
    """Whether the coordinator at once removed members that had sent a request within their session timeout, although
    they had the rebalance timeout to join (before JoinGroup v1 the session timeout)."""
    took_ms = rebalance.duration_ms
    return took_ms is not None and all(
        _is_late_joiner(member) and took_ms * _MOST_OF_SESSION < (member.session_timeout_ms or 0)
        for member in rebalance.lost
    )


def _is_late_joiner(departed: DepartedMember) -> bool:
    """Whether the group removed a member that had sent a request within its session timeout: it did not join the next
    generation before the rebalance timeout was over."""
    silent_ms, session_ms = departed.silent_ms, departed.session_timeout_ms
    return not departed.left and silent_ms is not None and session_ms is not None and silent_ms < session_ms


def _removed_at_once(failure: Failure, who: str) -> str:
    """Returns how the coordinator removed members without waiting for them."""
    losing = _losing(failure)
    longest_ms = max(row.duration_ms or 0 for row in losing)
    session_ms = max(member.session_timeout_ms or 0 for row in losing for member in row.lost)
    return (
        f"the coordinator removed {who} {times_of(sum(len(row.lost) for row in losing))} before the session timeout "
        f"({session_ms} ms) was over: it completed rebalances within {longest_ms} ms of another member's JoinGroup, "
        "and waited for no other member"
    )


def why_members_went(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields the advice where members died, were removed, or held a rebalance up."""
    departed = observed.departed
    if failure.members.dead:
        yield from _leave_in_order(observed)
    elif failure.error_names and not departed:
        yield clients(
            f"Find out why {listed(sorted({row.who for row in failure.recoveries}))} was silent for longer than its "
            "session timeout, or polled too seldom."
        )
        yield clients(slow_polls(observed.libraries))
    elif departed and all(map(_did_not_wait, _losing(failure))):
        yield from _wait_for_members(failure)
    elif departed and all(map(_is_late_joiner, departed)):
        yield clients(slow_polls(observed.libraries, _poll_ms(observed)))
    elif failure.rebalances and not departed:
        yield from _join_sooner(failure, observed)
    else:
        yield from _stay_in_session(failure, observed)


def _join_sooner(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields advice where no member was lost, and the others waited for one to join again."""
    slow = waited_for(failure)
    if any(row.end_ns is None for row in failure.rebalances):
        yield clients(
            "No member was lost before, and the rebalance was not over when the capture ended: some member had not "
            "joined again (kafka-consumer-groups.sh --describe --group GROUP --members --state names those that the "
            "coordinator knows). Restart it: a member has to send JoinGroup after REBALANCE_IN_PROGRESS."
        )
        return
    if slow is None:
        yield clients(
            "No member was lost: the rebalance lasted until its slowest member had stopped reading and joined "
            "again, or had left."
        )
    else:
        yield clients(
            f"Look at what the application of {slow[0]} did for {duration(slow[1])} without a poll: a member joins "
            "again with its next poll, and the others read nothing until then. "
            f"{slow_polls(observed.libraries, _poll_ms(observed))}"
        )
    yield clients(_others_read_on(observed))


def _stay_in_session(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields advice where the group removed members that were silent for their session timeout."""
    departed = observed.departed
    who = listed(sorted({d.client_id or d.member_id for d in departed}))
    ran_on = bool(departed) and all(_runs_on(d, observed) for d in departed)
    if failure.root is not None:
        was_off = "was on" if failure.root.kind.of_host else "did not reach"
        yield clients(f"{who} {was_off} {failure.root.subject}: see the incident that caused this one.")
    elif ran_on:
        yield clients(f"Find out why {who} was silent: a pause of its process, its host or its network.")
    else:
        yield clients("Let consumers leave (close()) when they stop.")
    silent_ms = max((d.silent_ms or 0 for d in departed), default=0)
    if silent_ms:
        yield clients(f"Members were silent for up to {silent_ms} ms.")
    protocol = next((p for c in observed.clients if (p := c.group_protocol) in BROKER_SESSIONS), None)
    if protocol is not None:
        groups = {row.group_id for row in failure.rebalances}
        groups |= {stall.group_id for stall in failure.stalls if stall.group_id}
        yield from map(brokers, session_of_broker(groups, observed, silent_ms, protocol=protocol, ran_on=ran_on))
        return
    yield clients(session_of_client(observed, silent_ms, ran_on=ran_on))
    yield clients(_others_read_on(observed))


def _poll_ms(observed: Observed) -> int | None:
    """Returns the longest time that the members have to join a rebalance, max.poll.interval.ms of Java; None if it is
    not known."""
    return max((c.rebalance_timeout_ms or 0 for c in observed.clients), default=0) or None


def _others_read_on(observed: Observed) -> str:
    others = settings(("instance_id", "cooperative"), observed.libraries)
    return f"With {others} the other members keep reading meanwhile." if others else ""


def _wait_for_members(failure: Failure) -> Iterable[Action]:
    """Yields advice for a coordinator that waits for no member."""
    if _without_timeout(failure):
        yield clients(
            "Upgrade the library to one whose JoinGroup names a rebalance timeout (version 1 or newer): theirs "
            "names none. Session and poll timeouts do not change that, nor do pauses in the application."
        )
    yield brokers(
        "See why the coordinator does not wait for members that are alive: Kafka waits for the rebalance timeout "
        "(the session timeout where JoinGroup names none); another server with Kafka's protocol may not."
    )


def _without_timeout(failure: Failure) -> bool:
    """Whether the JoinGroup requests had no rebalance timeout (version 0)."""
    members = [member for row in failure.rebalances for member in row.members if member.joined_ns is not None]
    return bool(members) and all(member.rebalance_timeout_ms is None for member in members)


def _leave_in_order(observed: Observed) -> Iterable[Action]:
    """Yields advice for members whose processes are killed or crash."""
    yield clients("Let consumers leave (close()) when they stop: find out what killed the process, or why it crashed.")
    yield clients(session_of_client(observed, 0, ran_on=False))
    static = settings(("instance_id",), observed.libraries)
    yield clients(f"With {static} a process that comes back at once gets its former partitions." if static else "")


def _runs_on(departed: DepartedMember, observed: Observed) -> bool:
    client = observed.client(departed.client_instance_id)
    return client is not None and client.end_state == "open"
