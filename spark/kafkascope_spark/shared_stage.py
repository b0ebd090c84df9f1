"""The second stage of the story job: runs the machines over keys that several clients share, one key after the other
(stories.job). Rows from which the incidents are made go to the next stage, with the reports of written files; all
others are written."""

import gc
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kafkascope_spark.client_stage import GC_OBJECTS
from kafkascope_spark.event_reader import values_of
from kafkascope_spark.exchange import NO_CLUSTER, Batches, batch_of, clusters
from kafkascope_spark.incident_stage import FOUND
from kafkascope_spark.stories.event_decoder import shared_event
from kafkascope_spark.stories.job import FOR_INCIDENTS, Followers, IncidentPlace, Made, incident_place, is_written
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stage_rows import BODY, packed, unpacked
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.task_reports import REPORT, TaskReport

Key = tuple[str, str]
"""Kind of the key, and the key."""
Events = Iterator[tuple[Origin, Any]]


def shared_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that Spark's workers run over each sorted partition of the first stage's rows. It yields
    rows of FOUND."""

    def follow_keys(batches: Batches) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(GC_OBJECTS, 50, 50)
        writer = StoryWriter(run)
        reports: list[TaskReport] = []
        for cluster, of_cluster in clusters(batches):
            writer.begin_cluster(cluster)
            followers = Followers(run.surroundings(writer.failed_parts))
            for batch in of_cluster:
                made: list[Made] = []
                for (key_kind, key), events in by_key(batch):
                    if key_kind == REPORT:
                        reports += (report for _, report in events)
                    else:
                        made += followers.feed(key_kind, key, events)
                yield _found(made, writer, cluster)
            yield _found(followers.finish(), writer, cluster)
        reports += writer.close()
        places = (IncidentPlace(len(FOR_INCIDENTS), 0, report.path or "") for report in reports)
        yield batch_of(FOUND, NO_CLUSTER, [(*p, packed(report)) for p, report in zip(places, reports, strict=True)])
        pa.default_memory_pool().release_unused()

    return follow_keys


def _found(rows: Iterable[Made], writer: StoryWriter, cluster: str) -> pa.RecordBatch:
    """Returns the rows for the incidents, and writes the others."""
    found = []
    for row in rows:
        if is_written(row):
            writer.take(row)
        else:
            found.append((*incident_place(row), packed(row)))
    return batch_of(FOUND, cluster, found)


def by_key(batch: pa.RecordBatch) -> Iterator[tuple[Key, Events]]:
    """Yields the events of each key of a batch (client_stage.SHARED)."""
    keys = zip(*(values_of(batch.column(name)) for name in ("key_kind", "key")), strict=True)
    for key, events in groupby(zip(keys, _events(batch), strict=True), key=itemgetter(0)):
        yield key, map(itemgetter(1), events)


def _events(batch: pa.RecordBatch) -> Events:
    origins = map(Origin._make, zip(*(values_of(batch.column(name)) for name in Origin._fields), strict=True))
    return zip(origins, map(_body, values_of(batch.column("kind")), batch.column(BODY).to_pylist()), strict=True)


def _body(kind: str | None, body: bytes) -> Any:
    values_or_row = unpacked(body)
    return values_or_row if kind is None else shared_event(kind, values_or_row)
