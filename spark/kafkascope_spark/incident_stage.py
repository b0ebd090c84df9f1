"""The third stage of the story job: what failed, from everything that the first two stages found.

One task: an incident may concern every client and every broker. Its input is what stood still or failed, never what
went well, and last a row for each client, of which it keeps those that stood still, failed or left. It writes the
tables stalls, broker_states, incidents, recoveries and rebalances, and the rows of startups and transactions that did
not go well, each with the incident that it belongs to; and gives the files that all stages wrote.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.stories import (
    BROKER_STATES,
    INCIDENTS,
    REBALANCES,
    RECOVERIES,
    STALLS,
    STARTUPS,
    TRANSACTIONS,
)
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.exchange import Batches, clusters
from kafkascope_spark.stories.incidents.affected_client import AFFECTED_CLIENT
from kafkascope_spark.stories.incidents.listener_use import LISTENER_USE
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.silent_client import SILENT_CLIENT
from kafkascope_spark.stories.incidents.zookeeper_session import ZOOKEEPER_SESSION
from kafkascope_spark.stories.recoveries.client_recovery import RECOVERY
from kafkascope_spark.stories.stage_rows import BODY, StageRow, packed, unpacked
from kafkascope_spark.stories.stalls.stall import STALL
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.task_reports import batch_of_reports

_WRITTEN = (STALLS, BROKER_STATES, INCIDENTS, STARTUPS, RECOVERIES, REBALANCES, TRANSACTIONS)

BROKER_STATE, REBALANCE, WRITTEN_FILE = "broker_state", "rebalance", "file"
FAILED_START, TRANSACTION = "failed_start", "transaction"
FOUND_KINDS = (
    BROKER_STATE,
    RECOVERY,
    REBALANCE,
    STALL,
    ZOOKEEPER_SESSION,
    SILENT_CLIENT,
    LISTENER_USE,
    FAILED_START,
    TRANSACTION,
    AFFECTED_CLIENT,
    WRITTEN_FILE,
)
"""Kinds of rows, in the order in which they are needed: clients come after everything that may name them."""
FOUND = pa.schema(
    [
        ("cluster", pa.string()),
        ("order", pa.int8()),
        ("ts_ns", pa.int64()),
        ("id", pa.string()),
        ("kind", pa.string()),
        (BODY, pa.binary()),
    ]
)
"""Rows that go from the second stage to the third. order: the place of the kind among FOUND_KINDS; id: makes the order
total; body: the row (stage_rows)."""
FOUND_ORDER = ("cluster", "order", "ts_ns", "id")


def found(kind: str, ts_ns: int, identity: str, body: StoryRow | StageRow | ZooKeeperSession) -> dict[str, Any]:
    """A row of FOUND."""
    return {"order": FOUND_KINDS.index(kind), "ts_ns": ts_ns, "id": identity, "kind": kind, BODY: packed(body)}


def incident_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function that a Spark worker runs over the second stage's rows, in FOUND_ORDER; it gives REPORTS."""

    def write_incidents(batches: Batches) -> Iterator[pa.RecordBatch]:
        writer, files = StoryWriter(run, _WRITTEN), []
        for cluster, of_cluster in clusters(batches):
            writer.begin_cluster(cluster)
            incidents = Incidents(run.capture_ns[0], writer.failed_parts)
            for batch in of_cluster:
                rows = map(unpacked, batch.column(BODY).to_pylist())
                for kind, row in zip(batch.column("kind").to_pylist(), rows, strict=True):
                    if kind == WRITTEN_FILE:
                        files.append(row)
                    else:
                        incidents.take(row)
            for name, row in incidents.finish():
                writer.take(name, row)
        files += writer.close()
        if files:
            yield batch_of_reports(files)

    return write_incidents
