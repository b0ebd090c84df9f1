"""The one Spark job of the stories: read events, sort them by client address, run the machines over clients; sort what
clients share by group, transactional id, topic-partition, server and cause, run the machines over these; bring what
failed or stalled together, and make incidents of it.

Three exchanges: a group has to know which client a connection belongs to, and that is known once all connections of an
address are; an incident concerns several groups, clients and servers. The plan is the same at any size. Memory is that
of Spark's sort, which goes to disk, of one client's, group's or server's open state, and of what failed. The tables are
written by the tasks (story_writer); what comes back are the names of files.
"""

from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.tables.events import EVENT_ORDER
from kafkascope_spark.client_stage import SHARED, client_stage
from kafkascope_spark.event_reader import EVENT_ROWS, event_reader, splits_of
from kafkascope_spark.exchange import Exchange
from kafkascope_spark.incident_stage import FOUND, FOUND_ORDER, incident_stage
from kafkascope_spark.read import spark_schema
from kafkascope_spark.shared_stage import shared_stage
from kafkascope_spark.stories.tables import FINDINGS, STORY_TABLES
from kafkascope_spark.story_writer import StoryRun
from kafkascope_spark.task_reports import REPORTS, failed_parts_of, listed, reports_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkascope_analyzer.dataset.failed_parts import FailedPart
    from kafkascope_analyzer.dataset.manifest import DatasetFile

TABLES = tuple(table for table in STORY_TABLES if table is not FINDINGS)
BY_CLIENT = Exchange(
    ("cluster", "client_ip"),
    ("cluster", "client_ip", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq"),
)
BY_KEY = Exchange(("cluster", "key_kind", "key"), EVENT_ORDER)
TO_ONE = Exchange((), FOUND_ORDER)


def write_client_and_group_stories(
    session: "SparkSession", run: StoryRun
) -> "tuple[dict[str, tuple[DatasetFile, ...]], tuple[FailedPart, ...]]":
    """Run the job. Returns the files of each of TABLES, by its name in the manifest, which are not committed, and the
    parts that failed."""
    reports = reports_of(story_files(session, run).toArrow())
    return listed(run.dataset, run.run_id, reports, TABLES), failed_parts_of(reports)


def story_files(session: "SparkSession", run: StoryRun) -> "DataFrame":
    """The files that the job writes (task_reports.REPORTS). Lazy."""
    splits = splits_of(run.dataset)
    events = session.range(0, len(splits), 1, max(len(splits), 1)).mapInArrow(
        event_reader(run.dataset, splits), spark_schema(EVENT_ROWS)
    )
    clients = BY_CLIENT.sorted(events).mapInArrow(client_stage(run), spark_schema(SHARED))
    found = BY_KEY.sorted(clients).mapInArrow(shared_stage(run), spark_schema(FOUND))
    return TO_ONE.sorted(found).mapInArrow(incident_stage(run), spark_schema(REPORTS))
