"""Families of incidents: an incident that followed from no other, with all incidents that followed from it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kafkascope_spark.stories.findings.table import SEVERITIES
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.table import IncidentRow


def with_families(rows: Mapping[Failure, IncidentRow]) -> dict[Failure, IncidentRow]:
    """Returns the rows with the severities of their families. A failure without a row belongs to no family, and nothing
    follows from it. rows: by failure."""
    roots = {failure: _root_of(failure, rows) for failure in rows}
    worst: dict[Failure, str] = {}
    for failure, root in roots.items():
        severity = rows[failure].severity
        worst[root] = max(worst.get(root, severity), severity, key=SEVERITIES.index)
    return {
        failure: replace(
            row,
            root_incident_id=None if roots[failure] is failure else row.root_incident_id,
            family_severity=worst[roots[failure]],
        )
        for failure, row in rows.items()
    }


def give_further_stalls(failures: Iterable[Failure]) -> None:
    """Gives each failure the stalls of the failures that followed from it."""
    for failure in failures:
        root = failure.root
        while root is not None:
            root.further_stalls.extend(failure.stalls)
            root = root.root


def _root_of(failure: Failure, rows: Mapping[Failure, IncidentRow]) -> Failure:
    """Returns the first failure in the chain of failures from which this one followed."""
    while failure.root is not None and failure.root in rows:
        failure = failure.root
    return failure


def roots_of(incidents: Iterable[IncidentRow]) -> dict[str, IncidentRow]:
    """Returns the first incident of each chain by incident_id; the incident itself if its root is not in the table."""
    by_id = {row.incident_id: row for row in incidents}
    found = {}
    for row in by_id.values():
        root, seen = row, {row.incident_id}
        while root.root_incident_id in by_id and root.root_incident_id not in seen:
            root = by_id[root.root_incident_id]
            seen.add(root.incident_id)
        found[row.incident_id] = root
    return found
