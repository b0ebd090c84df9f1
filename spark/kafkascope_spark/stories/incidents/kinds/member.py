"""Members of groups that ended, were slow, or were removed from their group.

Looks at rebalances of the group, at heartbeats and their errors, and at members that did not join again in time. Could
be confused with a client that was paused (client), which sent nothing; with a consumer whose polls take too long
(slow_consumer), which leaves by itself; and with a coordinator that failed, to which members send their requests again.
Proved by the coordinator's own responses: generations, epochs and errors.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.given_up_join_texts import did_not_wait_for_others, wait_longer
from kafkascope_spark.stories.incidents.texts.old_member_texts import join_anew, lost_places
from kafkascope_spark.stories.incidents.texts.removed_member_texts import (
    removed,
    waited_for,
    waited_for_dead,
    why_members_went,
)
from kafkascope_spark.stories.incidents.texts.silent_leader_texts import waits_for_leader, wake_leader
from kafkascope_spark.stories.incidents.texts.texts import named
from kafkascope_spark.stories.incidents.texts.unused_id_texts import use_ids, waits_for_id
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    if failure.members.held:
        return _was_held(failure, times)
    if failure.members.given_up_joins:
        return did_not_wait_for_others(failure, times)
    if failure.members.silent_leader is not None:
        return waits_for_leader(failure, failure.members.silent_leader, times)
    if failure.members.unused_ids:
        return waits_for_id(failure, times)
    gone = [member for rebalance in failure.rebalances for member in rebalance.lost]
    if gone:
        return removed(failure, gone, times)
    if failure.error_names:
        return lost_places(failure, times)
    if failure.members.dead:
        return waited_for_dead(failure, times)
    return _was_not_read(failure, times)


def _was_not_read(failure: Failure, times: Times) -> str:
    """Returns that a rebalance left partitions unread, although no member was lost."""
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


def _for_whom(failure: Failure) -> str:
    slow = waited_for(failure)
    if slow is None:
        return ""
    return f": {slow[0]} joined again {duration(slow[1])} after the other members, which waited for it"


def _was_held(failure: Failure, times: Times) -> str:
    """Returns how requests of the members waited behind a long poll."""
    longest = max(failure.members.held, key=lambda row: row.to_ns - row.from_ns)
    apis = listed(sorted({row.api_name for row in failure.members.held}))
    return (
        f"A member was removed from {failure.subject} {times.of(failure)}: its {apis} waited in the broker for up to "
        f"{duration(longest.to_ns - longest.from_ns)}, behind a Fetch on the same connection that asked the broker "
        f"to wait for records for up to {longest.max_wait_ms} ms (packet {longest.poll_packet_no})"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.members.held:
        yield _poll_less_long(failure, observed)
    elif failure.members.given_up_joins:
        yield from wait_longer(failure, observed)
    elif failure.members.silent_leader is not None:
        yield from wake_leader(failure.members.silent_leader)
    elif failure.members.unused_ids:
        yield from use_ids(failure)
    elif not failure.error_names and _back_in_place(failure):
        yield _RESTARTED
    elif anew := list(join_anew(failure)):
        yield from anew
    else:
        yield from why_members_went(failure, observed)


def _poll_less_long(failure: Failure, observed: Observed) -> Action:
    session_ms = max((c.session_timeout_ms or 0 for c in observed.clients), default=0)
    session = f", {session_ms} ms" if session_ms else ""
    return clients(
        f"Lower {settings(('fetch_wait',), observed.libraries)}, now {failure.members.held[0].max_wait_ms} ms, far "
        f"below the session timeout{session}: a broker answers the requests of a connection in their order, and does "
        "not read a heartbeat behind a Fetch that waits. Or let the library use a separate connection for the group's "
        "coordinator (upgrade it). The brokers and the application are not the cause."
    )


_RESTARTED = clients(
    "Nothing is to be done where it was restarted on purpose: that is what group.instance.id is for. Its partitions "
    "wait for as long as the restart takes; nobody else reads them before its session is over."
)


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
