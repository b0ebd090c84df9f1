"""Makes the row of a group epoch, by comparison with the previous one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkascope_spark.stories.groups.causes import Cause, Explanations, cause_of, first_eviction
from kafkascope_spark.stories.groups.generation import Generation
from kafkascope_spark.stories.groups.ownership import Change, Move
from kafkascope_spark.stories.groups.rebalance_row import Round, last_entered, rebalance_row
from kafkascope_spark.stories.groups.table import RebalanceRow

MODE = "incremental"
"""Mode of all epochs: the coordinator moves partitions one by one, and no member stops for the others (KIP-848)."""
Past = tuple[Generation | None, bool]
"""The previous epoch, and whether the group had no members since."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Observations of an epoch."""

    causes: list[Cause]
    """Causes of the epoch, the most likely first."""
    changes: Mapping[str, Change]
    """Changes of the members' assignments, by member id."""
    moves: Sequence[Move]
    """Items that changed their owner."""


def epoch_row(now: Generation, past: Past, capture_end_ns: int | None, observed: Observed) -> RebalanceRow:
    """Returns the row of an epoch."""
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
