"""The stage between the second and the third: a task fetches those tables of the spills that a piece of work reads,
does the work, and moves the tables that it spills to the dataset's storage (kafkascope_analyzer.resolve.tasks)."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafkascope_spark.ingest.read_stage import Stage
from kafkascope_spark.ingest.report_rows import report_row
from kafkascope_spark.ingest.saved_work import SavedFile, load_file
from kafkascope_spark.ingest.task_files import SPILL, SPILLED_ROWS, TaskRun, fetch, move_new, task_folder
from kafkascope_spark.ingest.worker_process import task_at_work


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work. task: the file of the SpillTask; spill: path in the dataset's storage of each file that it
    reads, by its path in a local spill folder."""

    task: SavedFile
    spill: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkReport:
    """Results of a piece of work. found: what it returned; spill: path in the dataset's storage of each file that it
    spilled, by its path in a local spill folder; removed: files that it read and that nobody needs any more."""

    found: Any
    spill: dict[str, str]
    removed: list[str]


def task_stage(run: TaskRun, works: list[Work]) -> Stage:
    """Returns the function that does the work whose numbers are the rows. It yields report_rows.REPORT, one
    `WorkReport` per row."""

    def do(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield report_row(_done(run, works[number]))

    return do


def _done(run: TaskRun, work: Work) -> WorkReport:
    with task_folder(run) as folder:
        spill = folder / SPILL
        task = pickle.loads(load_file(run, work.task))
        for name, _ in task.reads():
            (spill / name).mkdir(parents=True, exist_ok=True)
        fetch(run.storage, ((place, name) for name, place in work.spill.items()), spill)
        found = task(spill)
        there = {path.relative_to(spill).as_posix() for path in spill.glob(f"*/{SPILLED_ROWS}")}
        new = move_new(run, spill, sorted(there - work.spill.keys()))
        return WorkReport(found, new, sorted(work.spill.keys() - there))
