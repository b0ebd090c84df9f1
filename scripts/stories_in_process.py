"""The stages of the story job one after the other in this process, sorted as its exchanges sort: the same rows, without
a JVM. tests/spark/test_stories.py compares them with Spark's. Findings are queries of Spark: with a session, they are
written too.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import joined_parts
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_spark.client_stage import SHARED, client_stage
from kafkascope_spark.event_reader import EVENT_ROWS, event_reader, splits_of
from kafkascope_spark.exchange import Exchange
from kafkascope_spark.incident_stage import FOUND, incident_stage
from kafkascope_spark.session import keep_class_archive
from kafkascope_spark.shared_stage import shared_stage
from kafkascope_spark.stories.findings.file_reads import FileReads
from kafkascope_spark.story_job import BY_CLIENT, BY_KEY, TABLES, TO_ONE
from kafkascope_spark.story_writer import StoryRun
from kafkascope_spark.tables import Tables
from kafkascope_spark.task_reports import REPORTS, failed_parts_of, listed, reports_of
from kafkascope_spark.write_stories import write_findings

BATCH_ROWS = 10_000


def write_stories_in_process(place: Path, session: Any = None, ignored: Collection[str] = ()) -> None:
    """Write the story tables of a dataset. session: the Spark session that finds the findings; None: there are none.
    ignored: rules that are not asked."""
    before = Dataset.open(place)
    with NewDataset(before.storage) as new:
        dataset = new.former or before
        run = StoryRun(
            dataset, dataset.capture_span or (0, 0), "stage1", has_several_clusters=len(dataset.clusters) > 1
        )
        splits = splits_of(dataset)
        numbers = iter([pa.RecordBatch.from_pydict({"id": list(range(len(splits)))})])
        events = _sorted(event_reader(dataset, splits)(numbers), EVENT_ROWS, BY_CLIENT)
        clients = _sorted(client_stage(run)(events), SHARED, BY_KEY)
        found = _sorted(shared_stage(replace(run, run_id="stage2"))(clients), FOUND, TO_ONE)
        written = pa.Table.from_batches(list(incident_stage(replace(run, run_id="stage3"))(found)), REPORTS)
        reports = reports_of(written)
        files, failed = listed(dataset, run.run_id, reports, TABLES), failed_parts_of(reports)
        file_reads = FileReads.of(dataset)
        if session is not None:
            made = dataset.manifest.with_files({**dataset.manifest.files, **files})
            tables = Tables(session, replace(dataset, manifest=made))
            findings, failed_rules = write_findings(tables, run, ignored, file_reads)
            files, failed = {**files, **findings}, joined_parts([*failed, *failed_rules])
            keep_class_archive()
        new.commit(dataset.with_stories(files, DEFAULT_STALL_MS, failed, file_reads.save(dataset, new.run_id)))


def _sorted(batches: Iterator[pa.RecordBatch], schema: pa.Schema, exchange: Exchange) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches([batch for batch in batches if batch.num_rows], schema)
    ordered = table.sort_by([(name, "ascending") for name in exchange.order])
    yield from ordered.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
