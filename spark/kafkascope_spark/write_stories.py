"""`write_stories`: makes the story tables of clients, groups and transactions from a dataset's events on Spark, and
writes them."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts, joined_parts
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_analyzer.dataset.story_files import new_run_id
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark.exchange import NO_CLUSTER
from kafkascope_spark.session import (
    connector_for,
    keep_class_archive,
    open_session,
    set_size,
    size_for_events,
    size_for_queries,
    size_for_requests,
)
from kafkascope_spark.stories.tables import FINDINGS
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.task_reports import REPORTS, batch_of_reports, failed_parts_of, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kafkascope_analyzer.dataset.failed_parts import FailedPart
    from kafkascope_analyzer.dataset.manifest import Files
    from kafkascope_spark.queries.failing import Detectors
    from kafkascope_spark.queries.finding_rows import Batches
    from kafkascope_spark.stories.findings.file_reads import FileReads
    from kafkascope_spark.stories.findings.rule import Rule
    from kafkascope_spark.tables import Tables
    from kafkascope_spark.task_reports import TaskReport


def _unheeded(stage: str) -> None:
    """Ignores the name of a stage."""


def write_stories(
    uri: str | Path,
    *,
    master: str | None = None,
    remote: str | None = None,
    ignored: Collection[str] = (),
    stall_ms: int = DEFAULT_STALL_MS,
    stage: "Callable[[str], None]" = _unheeded,
) -> None:
    """Writes the story tables of a dataset (stories.tables.STORY_TABLES). Older ones are replaced together at the end.

    uri: the dataset, a local path or a URI that Spark's executors can reach, too; other arguments: see `make_stories`.
    Raises UsageError if there is no such dataset or no session can be opened.
    """
    before = Dataset.open(uri)
    with NewDataset(before.storage) as new:
        dataset = new.former or before
        new.commit(make_stories(dataset, master=master, remote=remote, ignored=ignored, stall_ms=stall_ms, stage=stage))


def make_stories(
    dataset: Dataset,
    *,
    master: str | None = None,
    remote: str | None = None,
    ignored: Collection[str] = (),
    stall_ms: int = DEFAULT_STALL_MS,
    stage: "Callable[[str], None]" = _unheeded,
) -> Dataset:
    """Writes the files of a dataset's stories, and returns the dataset with them, which is not committed.

    dataset: committed or not; its files are read in place. master: a Spark master; remote: a Spark Connect server; with
    neither, `SPARK_REMOTE` if that is set, else Spark inside this process. ignored: rules that are not run; stall_ms:
    shortest wait that counts as a stall; stage: called with the name of each stage when it begins. Raises UsageError if
    no session can be opened.
    """
    size = size_for_requests(dataset.rows(REQUESTS.name))
    session = open_session(master, remote, size=size, connector=connector_for(dataset.storage))
    from kafkascope_spark.stories.findings.file_reads import FileReads
    from kafkascope_spark.story_job import write_client_and_group_stories
    from kafkascope_spark.tables import Tables

    set_size(session, size_for_events(dataset.listed_rows(EVENTS.name)))
    # With the id of the run that writes the dataset, the mark of that run covers these files, too.
    run_id = dataset.unfinished_run or new_run_id()
    run = StoryRun(dataset, dataset.capture_span or (0, 0), run_id, stall_ms, len(dataset.clusters) > 1)
    stage("Spark: clients, groups, transactions, stalls, incidents")
    files, failed = write_client_and_group_stories(session, run)
    manifest = dataset.manifest.with_files({**dataset.manifest.files, **files})
    tables, file_reads = Tables(session, replace(dataset, manifest=manifest)), FileReads.of(dataset)
    again = "; another release wrote the former ones, so all tables are read again"
    stage(f"Spark: findings{again if file_reads.is_of_other_release else ''}")
    findings, failed_rules = write_findings(tables, run, ignored, file_reads)
    keep_class_archive()
    every_failed, saved = joined_parts([*failed, *failed_rules]), file_reads.save(dataset, run_id)
    return dataset.with_stories({**files, **findings}, stall_ms, every_failed, saved)


def write_findings(
    tables: "Tables", run: StoryRun, ignored: Collection[str] = (), file_reads: "FileReads | None" = None
) -> "tuple[Files, tuple[FailedPart, ...]]":
    """Runs the rules that are not ignored, and writes their findings. tables: tables with the stories of this run;
    file_reads: see Preconditions. Returns the files, which are not committed, and the rules that failed.

    The rules run over one cluster after the other, so that no query joins rows of two clusters.
    """
    from kafkascope_spark.stories.findings.registry import RULES

    failed, asked = FailedParts(), [rule for rule in RULES if rule.name not in ignored]
    reported: list[TaskReport] = []
    for cluster in tables.dataset.clusters or (NO_CLUSTER,):
        dataset = tables.dataset.of_cluster(cluster) if run.has_several_clusters else tables.dataset
        reported += _findings(
            replace(tables, dataset=dataset), replace(run, cluster=cluster), asked, failed, file_reads
        )
    files = listed(run.dataset, run.run_id, reported, [FINDINGS])
    return files, joined_parts([*failed.taken(), *failed_parts_of(reported)])


def _findings(
    tables: "Tables", run: StoryRun, rules: "Sequence[Rule]", failed: FailedParts, file_reads: "FileReads | None"
) -> "list[TaskReport]":
    """Returns the reports of the tasks that write the findings of the run's cluster."""
    from kafkascope_spark.queries.failing import reports_of_working
    from kafkascope_spark.queries.statement import rows_read
    from kafkascope_spark.queries.transform import detectors_to_run, found_facts
    from kafkascope_spark.read import spark_schema

    detectors = detectors_to_run(tables, rules, failed, file_reads)
    if not detectors:
        return []
    set_size(tables.session, size_for_queries(rows_read(tables.dataset, (each for _, each in detectors.values()))))

    def frame_of(some: "Detectors") -> "DataFrame":
        stage = findings_stage(run, tables.dataset, some)
        return found_facts(tables, some).mapInArrow(stage, spark_schema(REPORTS))

    return reports_of_working(detectors, frame_of, failed)


def findings_stage(
    run: StoryRun, dataset: Dataset, detectors: "Detectors"
) -> "Callable[[Batches], Iterator[pa.RecordBatch]]":
    """Returns the function that a Spark worker runs over transform.found_facts. It writes the findings and yields the
    reports of the files. dataset: dataset with the incidents and stalls of this run."""
    from kafkascope_spark.queries.finding_rows import finding_writer
    from kafkascope_spark.stories.findings.causes import causes_in

    def write(batches: "Batches") -> "Iterator[pa.RecordBatch]":
        writer = StoryWriter(run)
        writer.begin_cluster(run.cluster)
        causes = partial(causes_in, dataset)
        as_findings = finding_writer(detectors, run.capture_ns[0], causes, writer.failed_parts)
        for batch in as_findings(batches):
            writer.take_batch(FINDINGS, batch)
        files = writer.close()
        if files:
            yield batch_of_reports(files)

    return write
