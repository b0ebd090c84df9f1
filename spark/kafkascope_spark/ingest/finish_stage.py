"""The third stage: a task fetches the spill of a bucket, writes the tables that need the facts learned from all
buckets, and moves them to the dataset's storage."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.dataset.manifest import Files
from kafkascope_analyzer.resolve.learned import Learned
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.bucket_tables import finish_bucket
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_spark.ingest.read_stage import Stage
from kafkascope_spark.ingest.report_rows import report_row
from kafkascope_spark.ingest.saved_work import SavedFile, load_file
from kafkascope_spark.ingest.task_files import SPILL, TABLES, TaskRun, fetch, move_tables, task_folder
from kafkascope_spark.ingest.worker_process import task_at_work


@dataclass(frozen=True, slots=True)
class FinishJob:
    """A bucket to be finished. buckets: the driver's names of it, one for each capture point; spill: path in the
    dataset's storage of each file of their spills, by its path in a local spill folder; messages: the same for the
    files of the message tables."""

    buckets: Sequence[Bucket]
    spill: dict[str, str]
    messages: dict[str, str]


def finish_stage(run: TaskRun, jobs: Sequence[FinishJob], learned: SavedFile) -> Stage:
    """Returns the function that finishes the jobs whose numbers are the rows. learned: the file of a `Learned`. It
    yields report_rows.REPORT, one `Finished` per row."""

    def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with task_at_work():
            known: Learned | None = None
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    known = known or pickle.loads(load_file(run, learned))
                    yield report_row(_finished(run, jobs[number], known))

    return finish


def _finished(run: TaskRun, job: FinishJob, learned: Learned) -> Finished:
    with task_folder(run) as folder:
        spill, tables = folder / SPILL, folder / TABLES
        fetch(run.storage, ((place, name) for name, place in job.spill.items()), spill)
        fetch(run.storage, ((place, name) for name, place in job.messages.items()), tables)
        fetched = set(job.messages)
        finished = []
        for bucket in job.buckets:
            here = replace(bucket, spill=spill / bucket.spill.name, dataset=tables)
            here.spill.mkdir(parents=True, exist_ok=True)
            finished.append(finish_bucket(here, learned.with_spill_at(bucket.spill, here.spill)))
        for name in fetched:
            (tables / name).unlink()
        return Finished.joined([*finished, Finished({}, move_tables(run, tables))])


def message_names(files: Files, run_id: str) -> dict[str, str]:
    """Returns the paths of the files of message tables in the dataset's storage, by the names that a bucket gives
    them."""
    names = {}
    for listed in files.values():
        for file in listed:
            path = Path(file.path)
            stem = path.name.partition(run_id)[0]
            names[(path.parent / f"{stem}{run_id}.parquet").as_posix()] = file.path
    return names
