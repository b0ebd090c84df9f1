"""Members of groups that ended, were slow, or were removed from their group.

Looks at rebalances of the group, at heartbeats and their errors, and at members that did not join again in time. Could
be confused with a client that was paused (client), which sent nothing; with a consumer whose polls take too long
(slow_consumer), which leaves by itself; and with a coordinator that failed, to which members send their requests again.
Proved by the coordinator's own responses: generations, epochs and errors.
"""

from collections.abc import Iterable
from statistics import median

from kafkascope_parsers.api_keys import OFFSET_COMMIT
from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failure import SECOND, Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.kinds.session_timeouts import (
    BROKER_SESSIONS,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.incidents.kinds.silent_leader_texts import waits_for_leader, wake_leader
from kafkascope_spark.stories.incidents.kinds.texts import named, slow_polls
from kafkascope_spark.stories.incidents.kinds.unused_id_texts import use_ids, waits_for_id
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times
from kafkascope_spark.stories.settings import settings

OF_OLD_EPOCH = frozenset({"STALE_MEMBER_EPOCH"})
"""Error for a request with another member epoch than that of the member's last heartbeat (KIP-848)."""
MOST_OF_SESSION = 2
"""A rebalance shorter than the session timeout divided by this waited for no member."""


def _sentence(failure: Failure, times: Times) -> str:
    if failure.members.held:
        return _was_held(failure, times)
    if failure.members.given_up_joins:
        return _did_not_wait_for_others(failure, times)
    if failure.members.silent_leader is not None:
        return waits_for_leader(failure, failure.members.silent_leader, times)
    if failure.members.unused_ids:
        return waits_for_id(failure, times)
    gone = [member for rebalance in failure.rebalances for member in rebalance.lost]
    if gone:
        who = listed(sorted({d.client_id or d.member_id for d in gone}))
        if failure.root is not None and failure.root.kind.of_host:
            return (
                f"In {failure.subject}, {who} on {failure.root.subject} was removed from the group, {times.of(failure)}"
            )
        if failure.root is not None:
            coordinator = f"the coordinator, {failure.root.subject}"
            return (
                f"In {failure.subject}, {who} did not reach {coordinator}, and was removed from the group, "
                f"{times.of(failure)}"
            )
        if all(map(_did_not_wait, _losing(failure))):
            return f"In {failure.subject}, {_removed_at_once(failure, who)}, {times.of(failure)}"
        if failure.members.dead:
            return _waited_for_dead(failure, times)
        if all(map(_is_late_joiner, gone)):
            return (
                f"In {failure.subject}, {who} did not join again in time, {times.of(failure)}: it sent heartbeats, "
                "but its application did not poll, while the other members waited for it"
            )
        return f"In {failure.subject}, {who} stopped without leaving the group, {times.of(failure)}"
    if failure.error_names:
        return _lost_places(failure, times)
    if failure.members.dead:
        return _waited_for_dead(failure, times)
    back = _back_in_place(failure)
    if back:
        return (
            f"{named(failure)} was not read in full {times.of(failure)}: {back} started anew and took back its place "
            "(group.instance.id), without a rebalance"
        )
    if failure.stalls:
        why = " because members joined or left" if failure.is_routine else ""
        return f"{named(failure)} rebalanced{why}, and partitions were not read {times.of(failure)}{_for_whom(failure)}"
    return f"Members were removed from their groups {times.of(failure)}"


def _back_in_place(failure: Failure) -> str:
    """The static members of which a new process took the place of the old one; empty if the group rebalanced for
    another reason, too."""
    if not failure.rebalances or any(row.outcome != "taken_over" for row in failure.rebalances):
        return ""
    return listed(sorted({d.client_id or d.member_id for row in failure.rebalances for d in row.departed}))


def _waited_for(failure: Failure) -> tuple[str, int] | None:
    """The member that joined last again, and for how long the others had to wait for it alone, where that was most of
    a rebalance; of several rebalances the one of the longest such wait."""
    found = []
    for row in failure.rebalances:
        joins = sorted((m.joined_ns, m.client_id or m.member_id) for m in row.members if m.joined_ns is not None)
        waited_ns = joins[-1][0] - joins[-2][0] if len(joins) > 1 else 0
        if waited_ns >= SECOND and waited_ns * 2 >= (row.duration_ms or 0) * 1_000_000:
            found.append((joins[-1][1], waited_ns))
    return max(found, key=lambda each: each[1], default=None)


def _for_whom(failure: Failure) -> str:
    slow = _waited_for(failure)
    if slow is None:
        return ""
    return f": {slow[0]} joined again {duration(slow[1])} after the other members, which waited for it"


def _waited_for_dead(failure: Failure, times: Times) -> str:
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


def _was_held(failure: Failure, times: Times) -> str:
    """Returns how requests of the members waited behind a long poll."""
    longest = max(failure.members.held, key=lambda row: row.to_ns - row.from_ns)
    apis = listed(sorted({row.api_name for row in failure.members.held}))
    return (
        f"A member was removed from {failure.subject} {times.of(failure)}: its {apis} waited in the broker for up to "
        f"{duration(longest.to_ns - longest.from_ns)}, behind a Fetch on the same connection that asked the broker "
        f"to wait for records for up to {longest.max_wait_ms} ms (packet {longest.poll_packet_no})"
    )


def _patience(failure: Failure) -> str:
    """Returns the median time that clients waited for a response to JoinGroup before they gave up."""
    return duration(int(median(row.until_ns - row.ts_ns for row in failure.members.given_up_joins)))


def _did_not_wait_for_others(failure: Failure, times: Times) -> str:
    """Returns a sentence about members that gave up JoinGroup and joined again."""
    rows = failure.members.given_up_joins
    who = listed(sorted({client(row.client_id, row.client_ip) for row in rows}))
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: {who} stopped waiting for "
        f"the response to JoinGroup {times_of(len(rows))} from {times.at(rows[0].ts_ns)} on, each time after "
        f"{_patience(failure)} (median), while the coordinator waited for the other members; it closed the "
        "connection and joined again"
    )


def _wait_longer(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields advice for members that do not wait for their group."""
    limit_ms = max((c.rebalance_timeout_ms or c.session_timeout_ms or 0 for c in observed.clients), default=0)
    limit = f" ({limit_ms} ms here)" if limit_ms else ""
    yield clients(
        f"Let them wait for the response to JoinGroup for longer than the rebalance timeout{limit}, after which the "
        f"coordinator answers at the latest: they give up after {_patience(failure)}. Where the library has no "
        "timeout for JoinGroup, raise that of its connections or requests; Java clients wait long enough. Or lower "
        "the heartbeat interval: members learn of a rebalance from their next heartbeat, and the others wait until "
        "then."
    )
    yield clients(
        "Each abandoned attempt may leave a member without a process: it gets partitions, and keeps them until its "
        "session times out. The coordinator and the network are not the cause."
    )


def _losing(failure: Failure) -> list[RebalanceRow]:
    """Returns the rebalances in which the group lost members that had not left."""
    return [row for row in failure.rebalances if row.lost]


def _did_not_wait(rebalance: RebalanceRow) -> bool:
    """Whether the coordinator at once removed members that had sent a request within their session timeout, although
    they had the rebalance timeout to join (before JoinGroup v1 the session timeout)."""
    took_ms = rebalance.duration_ms
    return took_ms is not None and all(
        _is_late_joiner(member) and took_ms * MOST_OF_SESSION < (member.session_timeout_ms or 0)
        for member in rebalance.lost
    )


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


def _without_timeout(failure: Failure) -> bool:
    """Whether the JoinGroup requests had no rebalance timeout (version 0)."""
    members = [member for row in failure.rebalances for member in row.members if member.joined_ns is not None]
    return bool(members) and all(member.rebalance_timeout_ms is None for member in members)


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


def _is_late_joiner(departed: DepartedMember) -> bool:
    """Whether the group removed a member that had sent a request within its session timeout: it did not join the next
    generation before the rebalance timeout was over."""
    silent_ms, session_ms = departed.silent_ms, departed.session_timeout_ms
    return not departed.left and silent_ms is not None and session_ms is not None and silent_ms < session_ms


def _lost_places(failure: Failure, times: Times) -> str:
    """Returns which clients got errors that they are no longer members, and which of them continued without joining
    again."""
    who = sorted({row.who for row in failure.recoveries})
    was = "were" if len(who) > 1 else "was"
    lost = (
        f"{listed(who)} {was} no longer a member of {failure.subject} ({listed(sorted(failure.error_names))}) "
        f"{times.of(failure)}"
    )
    continuing = _did_not_join_again(failure)
    if failure.error_names == OF_OLD_EPOCH and _commits_with_old_epoch(failure):
        n = sum(row.n_errors for row in failure.recoveries)
        return (
            f"{listed(who)} kept committing offsets of {failure.subject} with an old member epoch "
            f"({listed(sorted(failure.error_names))}, {times_of(n)}) {times.of(failure)}: nothing was committed"
        )
    if failure.error_names == OF_OLD_EPOCH:
        return (
            f"{listed(who)} sent requests to {failure.subject} with an old member epoch "
            f"({listed(sorted(failure.error_names))}) {times.of(failure)}"
        )
    if _is_fenced_again(failure):
        n = sum(row.n_errors for row in failure.recoveries)
        return f"{lost}: it repeated its request {times_of(n)}, and the coordinator refused its member epoch each time"
    if not continuing:
        return lost
    return f"{lost}. {listed(continuing)} continued without joining again: nothing that it reads is committed"


def _commits_with_old_epoch(failure: Failure) -> bool:
    """Whether a client kept committing with an epoch that was no longer valid."""
    return any(is_stuck(row) and row.first_api_key == OFFSET_COMMIT for row in failure.recoveries)


def _is_fenced_again(failure: Failure) -> bool:
    """Whether a member repeatedly got the error that its epoch is no longer valid: it did not join again, or was
    refused."""
    return failure.error_names == {"FENCED_MEMBER_EPOCH"} and any(map(is_stuck, failure.recoveries))


def _did_not_join_again(failure: Failure) -> list[str]:
    """Returns the clients that continued with an old generation."""
    return sorted({row.who for row in failure.recoveries if row.outcome == "wrong_reaction"})


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.members.held:
        yield _poll_less_long(failure, observed)
    elif failure.members.given_up_joins:
        yield from _wait_longer(failure, observed)
    elif failure.members.silent_leader is not None:
        yield from wake_leader(failure.members.silent_leader)
    elif failure.members.unused_ids:
        yield from use_ids(failure)
    elif not failure.error_names and _back_in_place(failure):
        yield _RESTARTED
    elif failure.error_names == OF_OLD_EPOCH and _commits_with_old_epoch(failure):
        yield _COMMIT_ANEW
    elif failure.error_names == OF_OLD_EPOCH and not failure.rebalances:
        yield _ASK_AGAIN
    elif _is_fenced_again(failure):
        yield from _JOIN_ANEW
    elif continuing := _did_not_join_again(failure):
        yield clients(
            f"Restart {listed(continuing)}, and upgrade its library: after such an error a member has to join again "
            "(JoinGroup). Until then it reads what another member reads too, and its commits are refused."
        )
    else:
        yield from _why_members_went(failure, observed)


def _poll_less_long(failure: Failure, observed: Observed) -> Action:
    session_ms = max((c.session_timeout_ms or 0 for c in observed.clients), default=0)
    session = f", {session_ms} ms" if session_ms else ""
    return clients(
        f"Lower {settings(('fetch_wait',), observed.libraries)}, now {failure.members.held[0].max_wait_ms} ms, far "
        f"below the session timeout{session}: a broker answers the requests of a connection in their order, and does "
        "not read a heartbeat behind a Fetch that waits. Or let the library use a separate connection for the group's "
        "coordinator (upgrade it). The brokers and the application are not the cause."
    )


_ASK_AGAIN = clients(
    "Timeouts and polls need no change: it remained a member. After this error a client repeats the request with "
    "the epoch of its next heartbeat. A client that then begins anywhere else than at the committed offset (at the "
    "latest offset it skips records) has a bug: compare the offset of its first Fetch with what the group had "
    "committed (kafka-consumer-groups.sh --describe), and update its library."
)


_RESTARTED = clients(
    "Nothing is to be done where it was restarted on purpose: that is what group.instance.id is for. Its partitions "
    "wait "
    "for as long as the restart takes; nobody else reads them before its session is over."
)
_JOIN_ANEW = (
    clients(
        "Restart these clients: each gets another member id, and joins as a new member. After FENCED_MEMBER_EPOCH a "
        "member gives up its partitions and joins again with epoch 0 (KIP-848): where the packets show a later "
        "epoch again, its library does not do that, and has to be updated. Timeouts and pauses between polls are "
        "not the cause."
    ),
    brokers(
        "Where it did join with epoch 0: brokers refuse that to a member that they still know (KAFKA-19233). Update "
        "the brokers. Until then the session of the old member has to end first "
        "(group.consumer.session.timeout.ms)."
    ),
)


_COMMIT_ANEW = clients(
    "Update its library: a commit must carry the member epoch of the last heartbeat (KIP-848), and be repeated with "
    "it after this error. Until then restart the client when you can: it gets a new epoch, and reads again what it "
    "has read since its last commit. Timeouts and pauses between polls are not the cause."
)


def _why_members_went(failure: Failure, observed: Observed) -> Iterable[Action]:
    departed = observed.departed
    if failure.members.dead:
        yield from _leave_in_order(observed)
        return
    if failure.error_names and not departed:
        yield clients(
            f"Find out why {listed(sorted({row.who for row in failure.recoveries}))} was silent for longer than its "
            "session timeout, or polled too seldom."
        )
        yield clients(slow_polls(observed.libraries))
        return
    if departed and all(map(_did_not_wait, _losing(failure))):
        yield from _wait_for_members(failure)
        return
    if departed and all(map(_is_late_joiner, departed)):
        poll_ms = max((c.rebalance_timeout_ms or 0 for c in observed.clients), default=0)
        yield clients(slow_polls(observed.libraries, poll_ms or None))
        return
    others = settings(("instance_id", "cooperative"), observed.libraries)
    reads_on = f"With {others} the other members keep reading meanwhile." if others else ""
    if failure.rebalances and not departed:
        slow = _waited_for(failure)
        if slow is not None:
            poll_ms = max((c.rebalance_timeout_ms or 0 for c in observed.clients), default=0)
            yield clients(
                f"Look at what the application of {slow[0]} did for {duration(slow[1])} without a poll: a member joins "
                "again with its next poll, and the others read nothing until then. "
                f"{slow_polls(observed.libraries, poll_ms or None)}"
            )
            yield clients(reads_on)
            return
        yield clients(
            "No member was lost: the rebalance lasted until its slowest member had stopped reading and joined "
            "again, or had left."
        )
        yield clients(reads_on)
        return
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
    yield clients(reads_on)


def _leave_in_order(observed: Observed) -> Iterable[Action]:
    """Yields advice for members whose processes are killed or crash."""
    yield clients("Let consumers leave (close()) when they stop: find out what killed the process, or why it crashed.")
    yield clients(session_of_client(observed, 0, ran_on=False))
    static = settings(("instance_id",), observed.libraries)
    yield clients(f"With {static} a process that comes back at once gets its former partitions." if static else "")


def _runs_on(departed: DepartedMember, observed: Observed) -> bool:
    client = observed.client(departed.client_instance_id)
    return client is not None and client.end_state == "open"


def _complete(failure: Failure) -> None:
    """Sets the subject to `group` and its name."""
    first = failure.recoveries[0]
    if first.resource_kind == "group":
        failure.subject = f"group {failure.subject}"


MEMBER = Kind(
    "member",
    "group member missing or slow",
    sentence=_sentence,
    advice=_advice,
    known="requests of the group's members, and its rebalances",
    place="group",
    errors=errors_about("membership"),
    of_members=True,
    complete=_complete,
)
