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
    group_id: Annotated[str | None, "group; null where nobody is known to read it"]
    n_minutes: Annotated[int, "minutes in which records of it went"]
    n_minutes_stalled: Annotated[int, "of them, minutes with a stall that concerns it"]
    available_percent: Annotated[float, "minutes without a stall, of a hundred"]
    acked_p50_us: Annotated[int | None, "from the creation of a record to its acknowledgment, median"]
    acked_p99_us: Annotated[int | None, "99th percentile"]
    fetched_p50_us: Annotated[int | None, "from there to its first fetch by the group, median"]
    fetched_p99_us: Annotated[int | None, "99th percentile"]
    lag_max: Annotated[int | None, "records that the group had yet to fetch, at most"]
    lag_last: Annotated[int | None, "at the end"]
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
