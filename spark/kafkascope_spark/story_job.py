"""The Spark job of the stories: reads events, sorts them by client address and runs the machines over clients; sorts
rows that clients share by group, transactional id, topic-partition, server and cause and runs the machines over these;
collects stalls and failures and makes incidents from them.

There are three exchanges: a group needs the client of each connection, which is known only when all connections of an
address are; and an incident concerns several groups, clients and servers. The plan is the same at any size. Memory is
that of Spark's sort, which uses the disk, of the open state of one client, group or server, and of the failures. The
tasks write the tables (story_writer) and return only the names of files.
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
    """Runs the job. Returns the files of each of TABLES by its name in the manifest, which are not committed yet, and
    the failed parts."""
    reports = reports_of(story_files(session, run).toArrow())
    return listed(run.dataset, run.run_id, reports, TABLES), failed_parts_of(reports)


def story_files(session: "SparkSession", run: StoryRun) -> "DataFrame":
    """Returns the reports of the files that the job writes (task_reports.REPORTS). Lazy."""
    splits = splits_of(run.dataset)
    events = session.range(0, len(splits), 1, max(len(splits), 1)).mapInArrow(
        event_reader(run.dataset, splits), spark_schema(EVENT_ROWS)
    )
    clients = BY_CLIENT.sorted(events).mapInArrow(client_stage(run), spark_schema(SHARED))
    found = BY_KEY.sorted(clients).mapInArrow(shared_stage(run), spark_schema(FOUND))
    return TO_ONE.sorted(found).mapInArrow(incident_stage(run), spark_schema(REPORTS))
