"""Members of groups that went away, were slow, or lost their place."""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.groups.table import DepartedMember
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.session_timeouts import (
    BROKER_SESSIONS,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.incidents.kinds.texts import named, slow_polls
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    gone = [member for rebalance in failure.rebalances for member in rebalance.lost]
    if gone:
        who = listed(sorted({d.client_id or d.member_id for d in gone}))
        if failure.root is not None:
            coordinator = f"the coordinator, {failure.root.subject}"
            return f"In {failure.subject}, {who} did not reach {coordinator}, and lost its place, {times.of(failure)}"
        if all(map(_is_late_joiner, gone)):
            return (
                f"In {failure.subject}, {who} did not join again in time, {times.of(failure)}: its heartbeats came, "
                "and its application did not poll, while the others waited for it"
            )
        return f"In {failure.subject}, {who} went away without leaving, {times.of(failure)}"
    if failure.error_names:
        return _lost_places(failure, times)
    if failure.stalls:
        why = " because members joined or left" if failure.is_routine else ""
        return f"{named(failure)} rebalanced{why}, and partitions were not read {times.of(failure)}"
    return f"Members of groups lost their place {times.of(failure)}"


def _is_late_joiner(departed: DepartedMember) -> bool:
    """Whether the group went on without a member that had been heard within its session timeout: it did not join the
    next generation before its rebalance timeout was over."""
    silent_ms, session_ms = departed.silent_ms, departed.session_timeout_ms
    return not departed.left and silent_ms is not None and session_ms is not None and silent_ms < session_ms


def _lost_places(failure: Failure, times: Times) -> str:
    """Who was told that it has no place in the group any longer, and who went on without joining again."""
    who = sorted({row.who for row in failure.recoveries})
    places = "their places" if len(who) > 1 else "its place"
    lost = (
        f"{listed(who)} lost {places} in {failure.subject} ({listed(sorted(failure.error_names))}) {times.of(failure)}"
    )
    stubborn = _stubborn(failure)
    if not stubborn:
        return lost
    return f"{lost}. {listed(stubborn)} went on without joining again: nothing that it reads is committed"


def _stubborn(failure: Failure) -> list[str]:
    """The clients that went on with a generation that is over."""
    return sorted({row.who for row in failure.recoveries if row.outcome == "wrong_reaction"})


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if stubborn := _stubborn(failure):
        yield clients(
            f"Restart {listed(stubborn)}, and upgrade its library: after such an error a member has to join again "
            "(JoinGroup). Until then it reads what another member reads too, and its commits are refused."
        )
        return
    departed = observed.departed
    if failure.error_names and not departed:
        yield clients(
            f"Find out why {listed(sorted({row.who for row in failure.recoveries}))} was silent for longer than its "
            "session timeout, or polled too seldom."
        )
        yield clients(slow_polls(observed.libraries))
        return
    if departed and all(map(_is_late_joiner, departed)):
        poll_ms = max((c.rebalance_timeout_ms or 0 for c in observed.clients), default=0)
        yield clients(slow_polls(observed.libraries, poll_ms or None))
        return
    others = settings(("instance_id", "cooperative"), observed.libraries)
    reads_on = f"With {others} the other members read on meanwhile." if others else ""
    if failure.rebalances and not departed:
        yield clients(
            "No member went away without leaving: the rebalance lasted until its slowest member had stopped reading "
            "and joined again, or had left."
        )
        yield clients(reads_on)
        return
    who = listed(sorted({d.client_id or d.member_id for d in departed}))
    ran_on = bool(departed) and all(_runs_on(d, observed) for d in departed)
    if failure.root is not None:
        yield clients(f"{who} did not reach {failure.root.subject}: see the incident that this one follows from.")
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


def _runs_on(departed: DepartedMember, observed: Observed) -> bool:
    client = observed.client(departed.client_instance_id)
    return client is not None and client.end_state == "open"


def _complete(failure: Failure) -> None:
    """Calls the group a group."""
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
