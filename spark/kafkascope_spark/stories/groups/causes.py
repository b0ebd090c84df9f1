"""Causes of generations and group epochs: the rules that all group protocols share.

A protocol's module finds the explanations that its traffic shows; `cause_of` takes the first that applies.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_spark.stories.groups.generation import Departure, Generation


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of a generation. trigger: one of groups.table.TRIGGERS; why: a sentence; request_ids: requests that prove
    it."""

    trigger: str
    why: str
    member_id: str | None = None
    request_ids: tuple[str, ...] = ()


class Explanations(NamedTuple):
    """Possible causes of a generation. first: that the group had no members before; observed: the earliest observation
    that explains it; inferred: the cause if nothing was observed."""

    first: Cause | None
    observed: Cause | None
    inferred: Cause


def cause_of(now: Generation, explanations: Explanations) -> Cause:
    """Returns the cause of the generation."""
    if now.took_over is not None:
        return _take_over(now)
    if now.start_ns is None:
        return Cause("unknown", "the capture does not show how it was made")
    return explanations.first or explanations.observed or explanations.inferred


def request_ids(*ids: str | None) -> tuple[str, ...]:
    """Returns the ids that are not None."""
    return tuple(one for one in ids if one)


def first_eviction(departed: list[Departure], *proof: str | None) -> Cause | None:
    """Returns the removal of the first evicted member as a cause; None if none was evicted."""
    gone = next((d for d in departed if d.how == "evicted"), None)
    if gone is None:
        return None
    why = gone.why or f"{gone.member.name} was silent"
    return Cause("member_evicted", why, gone.member.member_id, request_ids(*proof, gone.request_id))


def _take_over(now: Generation) -> Cause:
    noun = "generation" if now.protocol.members_assign else "epoch"
    new = next((m for m in now.members.values() if m.join_sent_ns is not None), None)
    if new is None:
        return Cause("member_joined", "a static member came back under a new member id")
    why = f"{new.name} took the place of the static member {new.group_instance_id}: same {noun}, new member id"
    return Cause("member_joined", why, new.member_id)
