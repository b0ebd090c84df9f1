"""The driver's side of an ingest on Spark. See `kafkascope_analyzer.workers.engine.Engine`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.run_marks import mark_of
from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.ingest.append import Plan
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.memory.limits import limits_within
from kafkascope_analyzer.read.open_reading import Inputs
from kafkascope_analyzer.read.points.assignment import CapturePoints
from kafkascope_analyzer.read.range_join import Joined, join
from kafkascope_analyzer.read.range_plan import plan_ranges, range_bytes_for
from kafkascope_analyzer.read.range_reading import link_at_end
from kafkascope_analyzer.read.reading import EarlierSeries, ToRead, limits_hit_below_tcp
from kafkascope_analyzer.read.source import BLOCK_BYTES, CaptureInfo
from kafkascope_analyzer.read.unpacked_size import unpacked_bytes
from kafkascope_analyzer.resolve.learned import Learned
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.resolve.tasks import SpillTask
from kafkascope_analyzer.scan.spill import is_of_end
from kafkascope_analyzer.workers.engine import Progress, Scanned
from kafkascope_analyzer.workers.worker import BucketResult, ScanJob
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.failures import spark_failures
from kafkascope_spark.ingest.block_files import BlockFile, BlockSource, remove_blocks
from kafkascope_spark.ingest.finish_stage import FinishJob, finish_stage, message_names
from kafkascope_spark.ingest.reachable import check_reachable
from kafkascope_spark.ingest.read_stage import PointsReport, RangeReport, Stage, points_stage, read_stage
from kafkascope_spark.ingest.report_rows import REPORT, reports_of
from kafkascope_spark.ingest.saved_work import save_file
from kafkascope_spark.ingest.scan_stage import ScanReport, save_blocks, scan_stage
from kafkascope_spark.ingest.session_buckets import ShownSession, save_sessions
from kafkascope_spark.ingest.task_files import SPILLED_ROWS, TaskRun, copy_new, fetch
from kafkascope_spark.ingest.task_stage import Work, WorkReport, task_stage
from kafkascope_spark.read import spark_schema
from kafkascope_spark.session import keep_class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET_BYTES = 1 << 30
"""Bytes of captures per bucket: a task of some ten seconds, whose spill fits any executor's disk. Each bucket has its
own files in each table, so smaller buckets cost more."""
LEAST_BUCKET_BYTES = 64 << 20
"""Least size of a bucket, even if more tasks could run on the cluster."""
_MOST_PLANS = 4
"""Largest number of plans of ranges: the second plan knows the ends of all files."""


@dataclass(frozen=True, slots=True)
class ReadSizes:
    """range_bytes: size of the ranges into which captures are divided (None: that of range_plan.range_bytes_for);
    block_bytes: largest number of bytes that are read at a time."""

    range_bytes: int | None = None
    block_bytes: int = BLOCK_BYTES


DEFAULT_SIZES = ReadSizes()


class SparkEngine:
    """Ingests with the tasks of a Spark session."""

    def __init__(
        self,
        session: "SparkSession",
        new: NewDataset,
        plan: Plan,
        options: IngestOptions,
        *,
        sizes: ReadSizes = DEFAULT_SIZES,
        stage: Callable[[str], None] = lambda name: None,
    ) -> None:
        """Checks the cluster. stage: called with the name of each stage when it begins. Raises UsageError if the
        executors cannot reach an input or the dataset's storage."""
        inputs, earlier = plan.to_read.places, EarlierSeries()
        if isinstance(plan.to_read, ToRead):
            earlier = plan.to_read.before.series()
        for place in inputs:
            if place.is_stream:
                raise UsageError(f"{place}: Spark's tasks cannot read standard input or a pipe: give a file")
        mark = Path(new.storage.path) / mark_of(new.run_id) if new.storage.is_local else None
        with spark_failures():
            n_tasks = check_reachable(session, [*inputs, *options.key_logs], mark)
        n_bytes = sum(map(unpacked_bytes, inputs))
        self.n_buckets = plan.n_buckets or options.jobs or _n_buckets(n_bytes, n_tasks)
        limits = limits_within(options.max_memory)
        self._run = TaskRun(
            new.storage,
            new.run_id,
            self.n_buckets,
            options.detail,
            limits,
            options.temporary,
            options.append,
            plan.saved,
            options.key_logs,
        )
        self._block_bytes, self._earlier = min(limits.block_bytes, sizes.block_bytes), earlier
        self._range_bytes = sizes.range_bytes or range_bytes_for(n_bytes, n_tasks)
        self._session, self._stage = session, stage
        self._reports: list[ScanReport] = []
        self._jobs: list[FinishJob] = []
        self._spill = Path()
        """The local folder of the spills."""
        self._places: dict[str, str] = {}
        """Path in the dataset's storage of the files of all spills, by their paths in the local folder."""
        self._spilled_by_tasks: set[str] = set()
        """Files that tasks have spilled between the passes; the driver does not read them."""
        self._n_works = 0

    def __enter__(self) -> "SparkEngine":
        return self

    def __exit__(self, *failure: object) -> None:
        """Does nothing: the session does not belong to the engine."""

    def scan(self, jobs: Sequence[ScanJob], inputs: Inputs, progress: Progress | None = None) -> Scanned:
        """Implements `Engine.scan`. Progress is shown by Spark's own pages only."""
        self._stage("Spark: reading captures")
        if isinstance(inputs, CapturePoints):
            captures, network_times = self._scan_points(inputs)
        else:
            captures, network_times = self._scan_ranges(inputs), None
        self._stage("learning the cluster")
        results = []
        for job, report in zip(jobs, sorted(self._reports, key=lambda each: each.bucket), strict=True):
            counts = report.message_rows, report.ledger, report.limits_hit
            result = BucketResult(*counts, job.bucket, report.n_groups)
            files = (report.spill | report.states).items()
            fetch(self._run.storage, ((at, name) for name, at in files), job.bucket.spill.parent)
            for bucket in result.buckets:
                bucket.spill.mkdir(parents=True, exist_ok=True)
            results.append(result)
            names = message_names(report.files, self._run.run_id)
            self._spill = job.bucket.spill.parent
            self._places |= report.spill
            self._jobs.append(FinishJob(result.buckets, {}, names))
        return Scanned(captures, limits_hit_below_tcp(captures), results, network_times)

    def finish(self, learned: Learned, meanwhile: Callable[[], None] | None = None) -> Finished:
        """Implements `Engine.finish`."""
        if meanwhile is not None:
            meanwhile()
        jobs = [self._with_what_was_learned(job, learned) for job in self._jobs]
        self._stage("Spark: writing the tables")
        file = save_file(self._run, learned, f"{spill_folder(self._run.run_id)}/learned.pickle")
        finished: list[Finished] = self._reported(len(jobs), finish_stage(self._run, jobs, file))
        keep_class_archive()
        return Finished.joined([*finished, *(Finished({}, report.files) for report in self._reports)])

    def run(self, tasks: Sequence[SpillTask]) -> list[Any]:
        """Implements `Engine.run`."""
        place = f"{spill_folder(self._run.run_id)}/works"
        works = []
        for task in tasks:
            self._n_works += 1
            spill = self._stored({(name, table) for name, table in task.reads()})
            works.append(Work(save_file(self._run, task, f"{place}/{self._n_works}.pickle"), spill))
        self._stage("Spark: following the records")
        reports: list[WorkReport] = self._reported(len(works), task_stage(self._run, works))
        self._stage("learning the cluster")
        for report in reports:
            self._places |= report.spill
            self._spilled_by_tasks |= report.spill.keys()
            for file in report.removed:
                self._places.pop(file, None)
            saved = [file for file in report.spill if self._run.keeps_state and not is_of_end(file)]
            fetch(self._run.storage, ((report.spill[file], file) for file in saved), self._spill)
        return [report.found for report in reports]

    def _stored(self, tables: set[tuple[str, str]]) -> dict[str, str]:
        """Returns the files of spilled tables, of the folder and name of each, that are in the dataset's storage. Files
        that the driver has spilled are copied there."""
        self._places |= copy_new(self._run, self._spill, self._unknown({folder for folder, _ in tables}))
        return {file: place for file, place in self._places.items() if _table_of(file) in tables}

    def _unknown(self, folders: Iterable[str]) -> list[str]:
        """Returns the files of spills that are only in the driver's folder."""
        here = (path for name in sorted(folders) for path in sorted((self._spill / name).glob(SPILLED_ROWS)))
        return [file for path in here if (file := path.relative_to(self._spill).as_posix()) not in self._places]

    def _with_what_was_learned(self, job: FinishJob, learned: Learned) -> FinishJob:
        """Returns the job with the files that learning has spilled, and without those that it has removed."""
        names = _folders(job, learned)
        self._places |= copy_new(self._run, self._spill, self._unknown(names))
        own = {bucket.spill.name for bucket in job.buckets} | set(names)
        spill = {
            file: place
            for file, place in self._places.items()
            if file.rpartition("/")[0] in own
            and _is_needed(file, names)
            and (file in self._spilled_by_tasks or (self._spill / file).exists())
        }
        return replace(job, spill=spill)

    def _scan_points(self, points: CapturePoints) -> tuple[list[CaptureInfo], pa.Table]:
        """Runs the first two stages over capture points. Returns the captures, and the times of segments between the
        points."""
        stage = points_stage(self._run, points, self._block_bytes)
        (found,) = self._reported(1, stage)
        report: PointsReport = found
        # Points share no state: each is scanned as a whole, so the blocks of one point are consecutive.
        ordered = sorted(report.blocks, key=lambda each: (each.series, each.block))
        sources = [(each, BlockSource(each.place, each.capture_id, each.series or 0, 0)) for each in ordered]
        self._scan_blocks(sources, report.sessions)
        return report.captures, report.network_times

    def _scan_ranges(self, inputs: ToRead) -> list[CaptureInfo]:
        """Runs the first two stages, and repeats the first one if its plan of ranges was wrong. Returns all captures
        that were read, earlier ones first."""
        joints, ends_ns = frozenset[tuple[int, int]](), dict[int, int]()
        for _ in range(_MOST_PLANS):
            ranges = plan_ranges(inputs, self._range_bytes, ends_ns=ends_ns, joints=joints)
            stage = read_stage(self._run, ranges, self._block_bytes)
            reports: list[RangeReport] = self._reported(len(ranges), stage)
            joined = join([each.summary for each in reports], self._earlier)
            blocks = [block for report in reports for block in report.blocks]
            if joined.is_right:
                sessions = [session for report in reports for session in report.sessions]
                self._scan_blocks(_in_order(blocks, joined), sessions)
                inputs.before.captures.extend(joined.captures)
                if self._run.keeps_state:
                    _save_reading(inputs, joined)
                return inputs.before.captures
            remove_blocks(self._run.storage, blocks)
            joints |= joined.wrong_joints
            ends_ns |= joined.wrong_ends
        raise SparkError("the captures changed while they were read")

    def _scan_blocks(self, blocks: Sequence[tuple[BlockFile, BlockSource]], sessions: Sequence[ShownSession]) -> None:
        """Runs the second stage, and removes the blocks. sessions: TLS sessions in the order of the captures."""
        self._stage("Spark: decoding")
        files = [file for file, _ in blocks]
        saved = save_blocks(self._run, [source for _, source in blocks], files)
        place = save_sessions(self._run, sessions) if self._run.key_logs else None
        stage = scan_stage(self._run, saved, place, self._block_bytes)
        self._reports = self._reported(self.n_buckets, stage)
        remove_blocks(self._run.storage, files)

    def _reported(self, n: int, stage: Stage) -> list[Any]:
        """Runs a stage over the numbers 0 to n - 1, each in its own task. Returns the reports of the tasks."""
        with spark_failures():
            return reports_of(self._session.range(0, n, 1, n).mapInArrow(stage, spark_schema(REPORT)).toArrow())


def _folders(job: FinishJob, learned: Learned) -> list[str]:
    """Returns the spill folders of a job's buckets, divided by cluster."""
    return [part.name for bucket in job.buckets for part in learned.parts_of(bucket.spill)]


def _table_of(file: str) -> tuple[str, str]:
    """Returns the folder and the table of a file of a spill."""
    folder, _, name = file.rpartition("/")
    return folder, name.rsplit(".", 2)[0]


def _is_needed(file: str, folders: Sequence[str]) -> bool:
    """Whether a file of a spill is needed to finish its bucket: of files that were divided by cluster, only DNS
    look-ups."""
    folder, _, name = file.rpartition("/")
    return folder in folders or name.startswith(f"{DNS.name}.")


def _in_order(blocks: Iterable[BlockFile], joined: Joined) -> list[tuple[BlockFile, BlockSource]]:
    """Returns the blocks in the order of the captures, each with the facts that are known when all ranges are read."""
    ordered = sorted(blocks, key=lambda each: (each.capture_id, each.number, each.block))
    return [
        (
            each,
            BlockSource(
                each.place,
                each.capture_id,
                joined.series[each.capture_id],
                joined.packets_before[each.capture_id, each.number],
            ),
        )
        for each in ordered
    ]


def _save_reading(inputs: ToRead, joined: Joined) -> None:
    """Saves the state of reading for later captures: the series, and the state of the link layer at the end of each."""
    before, first_id = inputs.before, len(inputs.before.captures) - len(inputs.places)
    before.finder = joined.finder
    last_captures = {series: capture_id for capture_id, series in joined.series.items() if series >= 0}
    for series, capture_id in sorted(last_captures.items()):
        end_ns = before.captures[capture_id].end_ts_ns or 0
        before.links[series : series + 1] = [link_at_end(inputs.places[capture_id - first_id], end_ns)]


def _n_buckets(n_bytes: int, n_tasks: int) -> int:
    """Returns the number of buckets: a multiple of the tasks that run at the same time, so that these end together,
    with at most BUCKET_BYTES in each; fewer if a bucket would have less than LEAST_BUCKET_BYTES."""
    rounds = -(-n_bytes // (BUCKET_BYTES * n_tasks))
    return max(1, min(rounds * n_tasks, n_bytes // LEAST_BUCKET_BYTES))
