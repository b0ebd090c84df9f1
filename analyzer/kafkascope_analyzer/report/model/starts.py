"""Starts of clients with their steps: shown by the report and `timeline`, compared by `diff`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table, one_of
from kafkascope_analyzer.report.formatting import percent, safe, span, start_text
from kafkascope_analyzer.report.missing_stories import NO_STORIES
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.cadences.table import Cadence
from kafkascope_spark.stories.startups.table import StartupRow, StartupStepRow
from kafkascope_spark.stories.tables import CLIENTS, STARTUPS

FIRST_STEPS, LAST_STEPS = 60, 20
"""Steps at the beginning and at the end of a start or recovery that a report holds."""
_WHO = {"client": "before {step}: client idle", "broker": "{step}: broker", "network": "{step}: network and client"}
_LEAST_SHARE = 20
"""A part of the critical path is named where it took at least 1/20 of the whole."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SlowPart:
    """A part of the critical path: who made the client wait, at which step, for how long."""

    step: Annotated[str, "step"]
    subject: Annotated[str | None, "subject of the step"]
    node_id: Annotated[int | None, "node"]
    who: Annotated[str, "who made the client wait", tuple(_WHO)]
    us: Annotated[int, "duration"]


@dataclass(slots=True)
class Start(StartupRow):
    """A row of stories/startups. Holds the steps of the start."""

    slowest: Annotated[tuple[SlowPart, ...], "the three longest parts of the critical path"] = ()
    n_steps: Annotated[int, "its steps"] = 0
    steps: Annotated[tuple[StartupStepRow, ...], "the first 60 and last 20 steps"] = ()

    @property
    def outcome_text(self) -> str:
        """How it ended, in words. Of an encrypted client it is only inferred that it works."""
        words = start_text(self.outcome)
        return f"{words} (inferred)" if self.claimed and self.outcome in ("ready", "done") else words

    @property
    def outcome_in_full(self) -> str:
        """How it ended, in words; for a start that is cut by the capture, with an explanation."""
        return f"{self.outcome_text}{': the capture does not have all of it' if self.outcome_text == 'cut' else ''}"


@dataclass(frozen=True, slots=True)
class ClientStarts(Row):
    """A client with its starts and loops."""

    TABLE: ClassVar[Table] = CLIENTS
    client_instance_id: str
    client_id: str | None
    client_ip: str | None
    kind: str
    group_protocol: str | None
    group_id: str | None
    transactional_id: str | None
    software_name: str | None
    software_version: str | None
    first_ns: int | None
    starts: tuple[Start, ...] = ()
    cadences: tuple[Cadence, ...] = ()


@dataclass(frozen=True, slots=True)
class AllStarts:
    """Starts of clients. start_ns: the capture's start."""

    start_ns: int
    clients: tuple[ClientStarts, ...]


def clients_of(dataset: Dataset, wanted: Sequence[str] = ()) -> list[ClientStarts]:
    """Returns the clients of a dataset but for brokers, by the time they were first seen. wanted: only clients with one
    of these client_instance_ids or client_ids, brokers included. Their starts are not loaded.

    Raises UsageError where there are no stories, or no client with one of the names.
    """
    if not has_table(dataset, STARTUPS):
        raise UsageError(f"{dataset}: {NO_STORIES}")
    everyone = sorted(read(dataset, ClientStarts), key=lambda c: (c.first_ns or 0, c.client_instance_id))
    if not wanted:
        return [c for c in everyone if c.kind != "broker"]
    found = [c for c in everyone if c.client_instance_id in wanted or c.client_id in wanted]
    for name in wanted:
        if not any(name in (c.client_instance_id, c.client_id) for c in found):
            names = sorted({c.client_id for c in everyone if c.client_id and c.kind != "broker"})
            some = ", ".join(map(safe, names[:10])) + (", ..." if len(names) > 10 else "")
            near = did_you_mean(name, names)
            raise UsageError(f"{dataset} has no client {safe(name)}{near}; it has {some or 'none with a client id'}")
    return found


def starts_model(dataset: Dataset, clients: Sequence[str], startup_id: str | None) -> AllStarts:
    """Returns the clients with their starts and loops: all, some, or one start alone. Raises UsageError as clients_of
    and start_with_client do.
    """
    owner = [] if startup_id is None else [start_with_client(dataset, startup_id)[1].client_instance_id]
    found = clients_of(dataset, owner or clients)
    ids = [c.client_instance_id for c in found]
    starts, loops = starts_of(dataset, ids), loops_of(dataset, ids)
    made = []
    for row in found:
        mine = [s for s in starts.get(row.client_instance_id, []) if startup_id in (None, s.startup_id)]
        own_loops = sorted(loops.get(row.client_instance_id, []), key=lambda loop: (loop.cadence, loop.conn_id or ""))
        made.append(replace(row, starts=tuple(mine), cadences=tuple(own_loops)))
    return AllStarts(capture_span(dataset)[0], tuple(made))


def starts_of(dataset: Dataset, client_instance_ids: list[str]) -> dict[str, list[Start]]:
    """Returns client_instance_id -> its starts in order, each with all of its steps."""
    return grouped(with_steps(dataset, starts_in_order(dataset, client_instance_ids)), lambda s: s.client_instance_id)


def starts_in_order(dataset: Dataset, client_instance_ids: list[str]) -> list[Start]:
    """Returns the starts of these clients by number, without their steps."""
    found = read(dataset, Start, one_of("client_instance_id", client_instance_ids))
    return sorted(found, key=lambda start: (start.start_no, start.startup_id))


def with_steps(dataset: Dataset, starts: Iterable[Start]) -> list[Start]:
    """Returns the starts with all of their steps in order, and the parts of the critical path that took longest."""
    starts = list(starts)
    found = read(dataset, StartupStepRow, one_of("startup_id", sorted(start.startup_id for start in starts)))
    steps = grouped(sorted(found, key=lambda step: step.seq), lambda step: step.startup_id)
    complete = []
    for start in starts:
        mine = tuple(steps.get(start.startup_id, ()))
        complete.append(replace(start, slowest=slowest(mine), n_steps=len(mine), steps=mine))
    return complete


def both_ends(steps: Sequence[T]) -> tuple[T, ...]:
    """Returns the steps; where there are too many, without those in the middle."""
    return tuple(steps if len(steps) <= FIRST_STEPS + LAST_STEPS else [*steps[:FIRST_STEPS], *steps[-LAST_STEPS:]])


def loops_of(dataset: Dataset, client_instance_ids: list[str]) -> dict[str, list[Cadence]]:
    """Returns client_instance_id -> its loops; none where the stories are older than that table."""
    only = one_of("client_instance_id", client_instance_ids)
    return grouped(read(dataset, Cadence, only), lambda loop: loop.client_instance_id)


def start_with_client(dataset: Dataset, startup_id: str) -> tuple[Start, ClientStarts]:
    """Returns the start with its steps, and its client. Raises UsageError where there is no such start."""
    found = next(read(dataset, Start, one_of("startup_id", [startup_id])), None)
    if found is None:
        raise UsageError(f"{dataset} has no start {startup_id}; table stories/startups has them")
    (start,) = with_steps(dataset, [found])
    identity = found.client_instance_id
    return start, next(read(dataset, ClientStarts, one_of("client_instance_id", [identity])))


def slowest(steps: Iterable[StartupStepRow]) -> tuple[SlowPart, ...]:
    """Returns the parts of the critical path that took longest: who made the client wait, at which step,
    microseconds."""
    parts = [part for step in steps if step.on_critical_path for part in _parts(step) if part.us > 0]
    return tuple(sorted(parts, key=lambda part: -part.us)[:3])


def _parts(step: StartupStepRow) -> list[SlowPart]:
    broker = min(step.broker_us or 0, step.duration_us)
    times = {"client": step.wait_us, "broker": broker, "network": step.duration_us - broker}
    return [SlowPart(step.step, step.subject, step.node_id, who, us) for who, us in times.items()]


def slowest_text(start: Start) -> str:
    """Returns the parts that took at least 1/20 of the whole: `join group: broker 3.01 s (94.2 %); …`; may be empty."""
    total_us = start.total_us or start.took_us or 0
    return "; ".join(_text(part, total_us) for part in start.slowest if part.us * _LEAST_SHARE >= total_us > 0)


def _text(part: SlowPart, total_us: int) -> str:
    who = _WHO[part.who].format(step=part.step.replace("_", " "))
    return f"{who} {span(part.us)} ({percent(part.us, total_us)})"
