"""A client's recoveries that have one cause, together, with the steps of the worst of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.formatting import count, outcome_text, span
from kafkascope_analyzer.report.model.starts import both_ends
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import NOT_RECOVERED, RECOVERIES, Recovery, RecoveryOutcome

MOST_CAUSES = 25
MOST_NAMES = 5
"""Most names in report.json; the tables have all."""
R = TypeVar("R", bound=Recovery)


@dataclass(frozen=True, slots=True)
class RecoveredCause(Row):
    """A client's episodes of one cause."""

    TABLE: ClassVar[Table] = RECOVERIES
    cause_id: str | None
    recovery_id: Annotated[str, "recovery_id of the worst of them, which the other keys describe"]
    n_episodes: Annotated[int, "episodes"]
    resource_kind: str
    resource: str
    n_resources: Annotated[int, "resources with errors"]
    resources: Annotated[tuple[str, ...], "the first 5 of them"]
    first_error_name: str
    error_names: tuple[str, ...]
    n_errors: int
    n_wasted_requests: int
    storm: bool
    expected_reaction: str
    reaction: str
    outcome: RecoveryOutcome
    outcomes: Annotated[dict[str, int], "episodes by how they ended"]
    start_ns: int
    recovered_ns: int | None
    time_to_recover_ms: int | None
    old_node_id: int | None
    new_node_id: int | None
    evidence: tuple[str, ...]
    n_steps: Annotated[int, "steps of the worst"] = 0
    steps: Annotated[tuple[RecoveryStep, ...], "the first 60 and last 20 steps"] = ()

    @property
    def is_unwell(self) -> bool:
        """Whether the worst of them did not end well."""
        return self.outcome in NOT_RECOVERED

    @property
    def how_it_ended(self) -> str:
        """The outcome of the worst of them, and its duration: `recovered after 103 ms`."""
        return outcome_text(self.outcome) + (took_text(self.time_to_recover_ms) if self.outcome == "recovered" else "")


def took_text(time_to_recover_ms: int | None) -> str:
    """Returns ` after 103 ms`; empty where the duration is not known."""
    return "" if time_to_recover_ms is None else f" after {span(1000 * time_to_recover_ms)}"


def recoveries_text(n: int, recoveries: Iterable[Recovery | RecoveredCause]) -> str:
    """Returns the number of recoveries, the longest, and how the first ended that did not succeed: `12 recoveries, up
    to 4.20 s, still open`; empty without any."""
    found = list(recoveries)
    longest_ms = max((row.time_to_recover_ms or 0 for row in found), default=0)
    longest = f", up to {span(1000 * longest_ms)}" if longest_ms else ""
    unwell = next((f", {outcome_text(row.outcome)}" for row in found if row.outcome != "recovered"), "")
    return f"{count(n, 'recovery', 'recoveries')}{longest}{unwell}" if n else ""


def causes_of(dataset: Dataset, client_instance_ids: list[str]) -> dict[str, list[RecoveredCause]]:
    """Returns episodes of one cause together by time, with the steps of the longest one, by client instance."""
    found = read(dataset, Recovery, one_of("client_instance_id", client_instance_ids))
    causes: dict[str, list[RecoveredCause]] = {}
    for (identity, _), episodes in grouped(found, lambda row: row.cause_key).items():
        causes.setdefault(identity, []).append(_cause(episodes))
    for identity, of_client in causes.items():
        causes[identity] = sorted(of_client, key=lambda cause: (cause.start_ns, cause.recovery_id))
    shown = [cause.recovery_id for of_client in causes.values() for cause in of_client[:MOST_CAUSES]]
    steps = steps_of(dataset, shown)
    return {identity: [_with_steps(cause, steps) for cause in of_client] for identity, of_client in causes.items()}


def steps_of(dataset: Dataset, recovery_ids: list[str]) -> dict[str, list[RecoveryStep]]:
    """Returns recovery_id -> its steps in order."""
    found = read(dataset, RecoveryStep, one_of("recovery_id", recovery_ids))
    return grouped(sorted(found, key=lambda step: step.seq), lambda step: step.recovery_id)


def worst_of_cause(episodes: Iterable[R]) -> R:
    """Returns the recovery that represents all of one cause: one that did not end well, else the longest."""
    return min(episodes, key=lambda row: (*row.worst_first, -row.n_errors))


def _with_steps(cause: RecoveredCause, steps: dict[str, list[RecoveryStep]]) -> RecoveredCause:
    mine = steps.get(cause.recovery_id, [])
    return replace(cause, n_steps=len(mine), steps=both_ends(mine))


def _cause(episodes: Sequence[Recovery]) -> RecoveredCause:
    """Returns the common facts of a client's episodes of one cause, and the outcome of the worst of them."""
    episodes = sorted(episodes, key=lambda row: (row.start_ns, row.resource, row.recovery_id))
    worst = worst_of_cause(episodes)
    resources = sorted({row.resource for row in episodes if row.resource})
    outcomes = Counter[str](row.outcome for row in episodes)
    return RecoveredCause(
        cause_id=worst.cause_id,
        recovery_id=worst.recovery_id,
        n_episodes=len(episodes),
        resource_kind=worst.resource_kind,
        resource=worst.resource,
        n_resources=len(resources),
        resources=tuple(resources[:MOST_NAMES]),
        first_error_name=episodes[0].first_error_name,
        error_names=tuple(sorted({error for row in episodes for error in row.error_names})),
        n_errors=sum(row.n_errors for row in episodes),
        n_wasted_requests=sum(row.n_wasted_requests for row in episodes),
        storm=any(row.storm for row in episodes),
        expected_reaction=worst.expected_reaction,
        reaction=worst.reaction,
        outcome=worst.outcome,
        outcomes=dict(sorted(outcomes.items())),
        start_ns=episodes[0].start_ns,
        recovered_ns=max((row.recovered_ns for row in episodes if row.recovered_ns is not None), default=None),
        time_to_recover_ms=worst.time_to_recover_ms,
        old_node_id=worst.old_node_id,
        new_node_id=worst.new_node_id,
        evidence=worst.evidence[:MOST_NAMES],
    )
