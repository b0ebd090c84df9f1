"""Compares two captures of one application: what failed in each, and how clients recovered.

Incidents are matched by their kind and what failed; recoveries by client, kind of resource and first error. Captures
may differ in length, so both are compared by their number per minute, and then by how long they took.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.formatting import absolute, safe
from kafkascope_analyzer.report.model.compare_traffic import (
    FASTER,
    NOTABLE_SHARE,
    NOTABLE_US,
    SAME,
    SLOWER,
    generic_name,
    minutes_of,
    rate_verdict,
)
from kafkascope_analyzer.report.model.incidents.families import Family, families_of
from kafkascope_analyzer.report.model.incidents.load import Facts, load_facts
from kafkascope_analyzer.report.model.incidents.model import INFO
from kafkascope_analyzer.report.model.incidents.summary import title_of
from kafkascope_analyzer.report.model.incidents.waits import stalled_names
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.incidents.kinds import words_of
from kafkascope_spark.stories.recoveries.table import NOT_RECOVERED, Recovery

T = TypeVar("T")
WORSE, BETTER = "worse", "better"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two captures."""

    name: str
    start: str | None
    duration_us: int
    n_clients: int
    n_requests: int
    n_incidents: int
    n_stalled_clients: int


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """Incidents of one kind of one broker, topic or other subject, with their consequences. longest: the longest stall
    because of one of them."""

    what: str
    n_before: int
    n_after: int
    clients_before: int
    clients_after: int
    longest_before_ms: int
    longest_after_ms: int
    verdict: str


@dataclass(frozen=True, slots=True)
class RecoveryChange:
    """Recoveries of clients of one name from one first error of one kind of resource. ms: their median duration;
    unrecovered: those that did not end well."""

    client_id: str
    resource_kind: str
    error_name: str
    n_before: int
    n_after: int
    before_ms: int | None
    after_ms: int | None
    unrecovered_before: int
    unrecovered_after: int
    verdict: str


@dataclass(frozen=True, slots=True)
class StoryChanges:
    """Changes of incidents and recoveries, changed ones first, and the two captures."""

    before: Side
    after: Side
    incidents: tuple[IncidentChange, ...]
    recoveries: tuple[RecoveryChange, ...]


@dataclass(frozen=True, slots=True)
class _CaptureRows:
    """The rows of one capture that are compared."""

    facts: Facts
    minutes: float
    incidents: Mapping[str, Sequence[Family]]
    recoveries: Mapping[tuple[str, str, str], Sequence[Recovery]]


def story_changes(before: Dataset, after: Dataset) -> StoryChanges:
    """Compares the two captures. Raises UsageError where a table cannot be read."""
    old, new = _load(before), _load(after)
    incidents = [_incident(what, old, new) for what in sorted(old.incidents.keys() | new.incidents.keys())]
    recoveries = [_recovery(key, old, new) for key in sorted(old.recoveries.keys() | new.recoveries.keys())]
    return StoryChanges(
        before=_side(before, old),
        after=_side(after, new),
        incidents=_changed_first(incidents, lambda row: row.verdict),
        recoveries=_changed_first(recoveries, lambda row: row.verdict),
    )


def _changed_first(rows: Iterable[T], verdict: Callable[[T], str]) -> tuple[T, ...]:
    return tuple(sorted(rows, key=lambda row: verdict(row) == SAME))


def _load(dataset: Dataset) -> _CaptureRows:
    facts = load_facts(dataset)
    own = (row for row in read(dataset, Recovery) if not facts.is_broker(row.client_instance_id))
    recoveries = grouped(own, lambda row: (generic_name(row.client_id or ""), row.resource_kind, row.first_error_name))
    return _CaptureRows(facts, minutes_of(dataset), grouped(families_of(facts), _what), recoveries)


def _what(family: Family) -> str:
    """Returns what failed in words that are the same in both captures: a broker may have another address."""
    root = family.root
    return title_of(root) if root.node_id is None else f"{words_of(root.kind)}: node {root.node_id}"


def _side(dataset: Dataset, rows: _CaptureRows) -> Side:
    facts = rows.facts
    of_cluster = "" if dataset.cluster is None else f" ({safe(dataset.cluster)})"
    return Side(
        name=f"{dataset}{of_cluster}",
        start=absolute(facts.start_ns) if facts.start_ns else None,
        duration_us=(facts.end_ns - facts.start_ns) // 1000,
        n_clients=facts.n_clients,
        n_requests=dataset.rows("requests"),
        n_incidents=sum(family.severity != INFO for of_kind in rows.incidents.values() for family in of_kind),
        n_stalled_clients=len(stalled_names(facts.stalls, facts)),
    )


def _incident(what: str, old: _CaptureRows, new: _CaptureRows) -> IncidentChange:
    families = [rows.incidents.get(what, ()) for rows in (old, new)]
    counts = len(families[0]), len(families[1])
    clients = [
        len({client for family in own for client in family.clients if not rows.facts.is_broker(client)})
        for own, rows in zip(families, (old, new), strict=True)
    ]
    longest = [max((family.longest_ms for family in own), default=0) for own in families]
    verdict = rate_verdict(counts, (counts[0] / old.minutes, counts[1] / new.minutes))
    if verdict == SAME and _is_notable(*longest):
        verdict = WORSE if longest[1] > longest[0] else BETTER
    return IncidentChange(what, *counts, clients[0], clients[1], longest[0], longest[1], verdict)


def _recovery(key: tuple[str, str, str], old: _CaptureRows, new: _CaptureRows) -> RecoveryChange:
    episodes = [rows.recoveries.get(key, ()) for rows in (old, new)]
    counts = len(episodes[0]), len(episodes[1])
    medians = [_median(row.time_to_recover_ms for row in own) for own in episodes]
    unwell = [sum(row.outcome in NOT_RECOVERED for row in own) for own in episodes]
    verdict = rate_verdict(counts, (counts[0] / old.minutes, counts[1] / new.minutes))
    if verdict == SAME and unwell[0] != unwell[1]:
        verdict = WORSE if unwell[1] > unwell[0] else BETTER
    elif verdict == SAME and _is_notable(medians[0] or 0, medians[1] or 0):
        verdict = SLOWER if (medians[1] or 0) > (medians[0] or 0) else FASTER
    return RecoveryChange(*key, *counts, medians[0], medians[1], unwell[0], unwell[1], verdict)


def _median(values: Iterable[int | None]) -> int | None:
    known = sorted(value for value in values if value is not None)
    return known[(len(known) - 1) // 2] if known else None


def _is_notable(before_ms: int, after_ms: int) -> bool:
    change_us = 1000 * abs(after_ms - before_ms)
    return change_us >= NOTABLE_US and change_us * NOTABLE_SHARE >= 1000 * before_ms
