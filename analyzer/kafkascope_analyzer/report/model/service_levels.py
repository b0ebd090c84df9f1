"""Service levels by topic and group: the answer of the saved question `slo`."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.rows import answers
from kafkascope_analyzer.sql.database import Database

MOST_LEVELS = 200


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """The service level of a topic and a group that reads it."""

    topic: Annotated[str, "topic"]
    group_id: Annotated[str | None, "group; null where no reader is known"]
    n_minutes: Annotated[int, "minutes in which records of it were written or read"]
    n_minutes_stalled: Annotated[int, "number of them with a stall that concerns it"]
    available_percent: Annotated[float, "percentage of the minutes without a stall"]
    acked_p50_us: Annotated[int | None, "from the creation of a record to its acknowledgment, median"]
    acked_p99_us: Annotated[int | None, "99th percentile"]
    fetched_p50_us: Annotated[int | None, "from the acknowledgment to the first fetch by the group, median"]
    fetched_p99_us: Annotated[int | None, "99th percentile"]
    lag_max: Annotated[int | None, "greatest lag of the group, records"]
    lag_last: Annotated[int | None, "lag at the end, records"]
    cluster: Annotated[str | None, "cluster"]


@dataclass(frozen=True, slots=True)
class ServiceLevels:
    """Service levels by topic and group."""

    n: Annotated[int, "topics and groups"]
    listed: Annotated[tuple[ServiceLevel, ...], "the least available first, at most 200"]


def service_levels(database: Database) -> ServiceLevels:
    """Returns the service levels; none where the dataset lacks a table that the question reads."""
    found = answers(database, "slo", ServiceLevel)
    return ServiceLevels(len(found), tuple(found[:MOST_LEVELS]))
