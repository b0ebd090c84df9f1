"""What a group epoch is compared with and concluded from when its row is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkascope_spark.stories.groups.causes import Cause, Explanations, cause_of, first_eviction
from kafkascope_spark.stories.groups.generation import Generation
from kafkascope_spark.stories.groups.ownership import Change, Move
from kafkascope_spark.stories.groups.rebalance_row import Round, last_entered, rebalance_row
from kafkascope_spark.stories.groups.table import RebalanceRow

MODE = "incremental"
"""The coordinator moves partitions one by one; nobody stops for the others (KIP-848)."""
Past = tuple[Generation | None, bool]
"""The epoch before, and whether the group was seen to have no members since."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed of an epoch."""

    causes: list[Cause]
    """What made it, the most likely first."""
    changes: Mapping[str, Change]
    """What it changed for its members."""
    moves: Sequence[Move]
    """What has another owner than before."""


def epoch_row(now: Generation, past: Past, capture_end_ns: int | None, observed: Observed) -> RebalanceRow:
    """The row of an epoch."""
    before, was_empty = past
    members = now.members.values()
    return rebalance_row(
        Round(
            now=now,
            previous=before,
            was_empty=was_empty,
            capture_end_ns=capture_end_ns,
            cause=cause_of(now, _explanations(now, before, observed.causes)),
            mode=MODE,
            departed=sorted(now.left.values(), key=lambda d: (d.member.last_seen_ns or 0, d.member.member_id)),
            gone_by_ns=now.start_ns,
            changes=observed.changes,
            moves=observed.moves,
            is_complete=bool(members) and all(m.fresh for m in members),
            last_joiner=last_entered(now) if now.start_ns is not None else None,
        )
    )


def _explanations(now: Generation, before: Generation | None, observed: list[Cause]) -> Explanations:
    only_new = bool(now.members) and all(m.fresh for m in now.members.values())
    first = None
    if before is None and not now.left and only_new:
        joiner = observed[0] if observed else Cause("first", "")
        first = Cause("first", "the group had no members before", joiner.member_id, joiner.request_ids)
    inferred = first_eviction(list(now.left.values()))
    if inferred is None and before is not None and not before.had_assignments and only_new:
        inferred = Cause("first", "the first assignment that its members were given")
    unknown = Cause("unknown", "no join, leave or change of subscription in the capture explains it")
    return Explanations(first, observed[0] if observed else None, inferred or unknown)
