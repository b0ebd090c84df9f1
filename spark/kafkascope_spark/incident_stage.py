"""The third stage of the story job: makes the incidents from the rows of the first two stages.

It is one task, because an incident may concern all clients and brokers. Its input is rows of stalls and failures, and
last a row for each client, of which it keeps those that stalled, failed or left. It writes the incidents, the rows that
belong to them, and the restarts of brokers, and returns the reports of all stages.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from kafkascope_spark.exchange import NO_CLUSTER, Batches, clusters
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.detectors import INCIDENT_DETECTOR
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.restarts.machine import Restarts
from kafkascope_spark.stories.stage_rows import BODY, unpacked
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.task_reports import TaskReport, batch_of_reports

FOUND = pa.schema(
    [
        ("cluster", pa.string()),
        ("order", pa.int8()),
        ("ts_ns", pa.int64()),
        ("id", pa.string()),
        (BODY, pa.binary()),
    ]
)
"""Rows between the second and the third stage, in FOUND_ORDER (job.IncidentPlace). body: the row (stage_rows)."""
FOUND_ORDER = ("cluster", "order", "ts_ns", "id")


def incident_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that a Spark worker runs over the second stage's rows, in FOUND_ORDER. It yields REPORTS."""

    def write_incidents(batches: Batches) -> Iterator[pa.RecordBatch]:
        writer = StoryWriter(run)
        reports: list[TaskReport] = []
        for cluster, of_cluster in clusters(batches):
            rows = (unpacked(body) for batch in of_cluster for body in batch.column(BODY).to_pylist())
            if cluster == NO_CLUSTER:
                reports += rows
                continue
            writer.begin_cluster(cluster)
            dataset = run.dataset.of_cluster(cluster) if run.has_several_clusters else run.dataset
            leadership_of = partial(Leadership.of, dataset)
            packets = Packets(dataset)
            incidents = Incidents(run.capture_ns[0], writer.failed_parts, leadership_of, packets, run.stall_ms)
            for found in rows:
                incidents.take(found)
            restarts = Restarts(dataset)
            for row in incidents.finish():
                writer.take(row)
                restarts.take(row)
            for restart in writer.failed_parts.rows(INCIDENT_DETECTOR, "restarts", restarts.finish):
                writer.take(restart)
        reports += writer.close()
        if reports:
            yield batch_of_reports(reports)

    return write_incidents
