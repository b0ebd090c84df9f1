"""Starts and recoveries with their steps and their words, as many as a page can hold.

Where there are more, clients with problems come first.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.explain.recovery import recovery_sentences
from kafkascope_analyzer.report.formatting import clock, outcome_text, safe, span
from kafkascope_analyzer.report.model.client_names import NamedClient
from kafkascope_analyzer.report.model.recoveries import took_text
from kafkascope_analyzer.report.model.starts import Start, both_ends, slowest_text, with_steps
from kafkascope_analyzer.report.page_model.waits import StallBand
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery
from kafkascope_spark.stories.startups.table import StartupStepRow

MOST_STARTS = 2_000
MOST_STARTS_WITH_STEPS = 400
MOST_EPISODES = 5_000
MOST_EPISODES_WITH_STEPS = 600
MOST_EVIDENCE = 6
NEVER_MS = 1_000_000_000
"""Sort value of a recovery that did not end well: larger than any duration in milliseconds."""


@dataclass(slots=True)
class WordedStart(Start):
    """A start with its words. to_ns: when it became ready, else the end of its last step."""

    heading: str = ""
    ended: str = ""
    in_short: str = ""
    slowest_text: str = ""
    to_ns: int | None = None

    @property
    def is_well(self) -> bool:
        """Whether the start became ready or did its work, or the capture has only a part of it."""
        return self.outcome in ("ready", "done", "cut")


@dataclass(slots=True)
class WordedStep(RecoveryStep):
    """A step with its words. at: time after the first error."""

    text: str = ""
    at: str = ""
    took: str = ""


@dataclass(slots=True)
class WordedRecovery(Recovery):
    """A recovery with its words and steps."""

    n_steps: int = 0
    steps: tuple[WordedStep, ...] = ()
    heading: str = ""
    ended: str = ""
    sentences: tuple[str, ...] = ()


def load_starts(dataset: Dataset, brokers: set[str], start_ns: int) -> tuple[WordedStart, ...]:
    """Loads the starts by time. Where there are too many: those that went wrong or took longest, brokers' own last."""
    everyone = sorted(read(dataset, WordedStart), key=lambda row: row.startup_id)
    everyone.sort(key=lambda row: (row.client_instance_id in brokers, row.is_well, -(row.total_us or 0)))
    chosen = everyone[:MOST_STARTS]
    known = {start.startup_id: start for start in with_steps(dataset, chosen[:MOST_STARTS_WITH_STEPS])}
    listed = [worded_start(row, known.get(row.startup_id, row), start_ns) for row in chosen]
    listed.sort(key=lambda row: (row.start_ns or 0, row.startup_id))
    return tuple(listed)


def worded_start(row: WordedStart, known: Start, start_ns: int) -> WordedStart:
    """Returns the start with its words. known: the same start with all of its steps; start_ns: the capture's first
    nanosecond."""
    number = f"Start {row.start_no}" if row.is_repeated else "Start"
    total = "" if row.total_us is None else span(row.total_us)
    error = f": {safe(row.error_name)}" if row.error_name else ""
    subject = f" ({safe(row.failed_subject)})" if row.failed_subject else ""
    ends = [step.end_ns for step in known.steps if step.end_ns is not None]
    where = row.failed_words
    return replace(
        row,
        n_steps=len(known.steps),
        steps=both_ends(tuple(map(_with_few_requests, known.steps))),
        heading=f"{number} at {clock((row.start_ns or start_ns) - start_ns)}",
        ended=row.outcome_text + (f" after {total}" if total else "") + where + (error + subject if where else ""),
        in_short=row.outcome_text + (f" {total}" if total else "") + where,
        slowest_text=slowest_text(known),
        to_ns=row.ready_ns or max(ends, default=row.start_ns),
    )


def _with_few_requests(step: StartupStepRow) -> StartupStepRow:
    return replace(step, request_ids=step.request_ids[:2])


def load_recoveries(dataset: Dataset, start_ns: int) -> tuple[WordedRecovery, ...]:
    """Loads the recoveries by time. Where there are too many: those that did not end well or took longest."""
    everyone = sorted(read(dataset, WordedRecovery), key=lambda row: row.recovery_id)
    everyone.sort(key=lambda row: (*row.worst_first, -row.n_errors))
    chosen = everyone[:MOST_EPISODES]
    wanted = [row.recovery_id for row in chosen[:MOST_EPISODES_WITH_STEPS]]
    found = sorted(read(dataset, WordedStep, one_of("recovery_id", wanted)), key=lambda step: step.seq)
    steps = grouped(found, lambda step: step.recovery_id)
    listed = [_worded_recovery(row, steps.get(row.recovery_id, ()), start_ns) for row in chosen]
    listed.sort(key=lambda row: (row.start_ns, row.recovery_id))
    return tuple(listed)


def _worded_recovery(row: WordedRecovery, steps: Sequence[WordedStep], start_ns: int) -> WordedRecovery:
    """Returns the recovery with its words. start_ns: the capture's start."""
    begun = clock(row.start_ns - start_ns)
    return replace(
        row,
        n_steps=len(steps),
        steps=both_ends(steps),
        evidence=row.evidence[:MOST_EVIDENCE],
        heading=f"{begun} {safe(row.first_error_name)} on {safe(row.resource)}",
        ended=outcome_text(row.outcome) + took_text(row.time_to_recover_ms),
        sentences=tuple(recovery_sentences(row)),
    )


def first_client(
    starts: Sequence[WordedStart], recoveries: Sequence[WordedRecovery], stalls: Sequence[StallBand], brokers: set[str]
) -> str:
    """Returns the client that the page opens first: the one whose recovery never ended, or with the longest stalls and
    recoveries in total; else the one that started first. A broker's own client only where there is no other.
    """
    lost: Counter[str] = Counter()
    for row in recoveries:
        lost[row.client_instance_id] += NEVER_MS if row.is_unwell else row.time_to_recover_ms or 0
    for stall in stalls:
        if stall.client_instance_id:
            lost[stall.client_instance_id] += stall.waited_ms
    troubled = sorted(lost.keys() - brokers, key=lambda identity: (-lost[identity], identity))
    started = [start.client_instance_id for start in starts]
    own = [identity for identity in started if identity not in brokers]
    return next(iter((*troubled, *own, *started)), "")


def brokers_of(dataset: Dataset) -> set[str]:
    """Returns the client_instance_ids of clients inside brokers."""
    return {client.client_instance_id for client in read(dataset, NamedClient, one_of("kind", ["broker"]))}
