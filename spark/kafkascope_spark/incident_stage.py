"""The third stage of the story job: what failed, from everything that the first two stages found.

One task: an incident may concern every client and every broker. Its input is what stood still or failed, never what
went well, and last a row for each client, of which it keeps those that stood still, failed or left. It writes the
tables stalls, broker_states, incidents, recoveries and rebalances, and the rows of startups and transactions that did
not go well, each with the incident that it belongs to; and gives the files that all stages wrote.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.stories import (
    BROKER_STATES,
    INCIDENTS,
    REBALANCES,
    RECOVERIES,
    STALLS,
    STARTUPS,
    TRANSACTIONS,
)
from kafkascope_spark.incidents.affected_client import AFFECTED_CLIENT, AFFECTED_CLIENT_STRUCT
from kafkascope_spark.incidents.listener_use import LISTENER_USE, LISTENER_USE_STRUCT
from kafkascope_spark.incidents.machine import Incidents
from kafkascope_spark.incidents.silent_client import SILENT_CLIENT, SILENT_CLIENT_STRUCT
from kafkascope_spark.incidents.zookeeper_session import ZOOKEEPER_SESSION, ZOOKEEPER_SESSION_STRUCT
from kafkascope_spark.stalls.stall import STALL
from kafkascope_spark.story_writer import FILE, StoryRun, StoryWriter, row_struct

Row = dict[str, Any]
Batches = Iterable[pa.RecordBatch]
FILES = pa.schema(list(FILE))
_WRITTEN = (STALLS, BROKER_STATES, INCIDENTS, STARTUPS, RECOVERIES, REBALANCES, TRANSACTIONS)

BROKER_STATE, RECOVERY, REBALANCE, WRITTEN_FILE = "broker_state", "recovery", "rebalance", "file"
FAILED_START, TRANSACTION = "failed_start", "transaction"
FOUND_KINDS = {
    BROKER_STATE: row_struct(BROKER_STATES),
    RECOVERY: pa.struct([*row_struct(RECOVERIES), ("client_ip", pa.string())]),
    REBALANCE: row_struct(REBALANCES),
    STALL: row_struct(STALLS),
    ZOOKEEPER_SESSION: ZOOKEEPER_SESSION_STRUCT,
    SILENT_CLIENT: SILENT_CLIENT_STRUCT,
    LISTENER_USE: LISTENER_USE_STRUCT,
    FAILED_START: row_struct(STARTUPS),
    TRANSACTION: row_struct(TRANSACTIONS),
    AFFECTED_CLIENT: AFFECTED_CLIENT_STRUCT,
    WRITTEN_FILE: FILE,
}
FOUND = pa.schema(
    [
        ("order", pa.int8()),
        ("ts_ns", pa.int64()),
        ("id", pa.string()),
        ("kind", pa.string()),
        *((kind, pa.list_(struct)) for kind, struct in FOUND_KINDS.items()),
    ]
)
"""What goes from the second stage to the third: rows with a list of one struct, that of their kind. order: the place of
the kind among FOUND_KINDS (clients come after everything that may name them); id: makes the order total."""
FOUND_ORDER = ("order", "ts_ns", "id")


def found(kind: str, ts_ns: int, identity: str, struct: Row) -> Row:
    """A row of FOUND."""
    order = list(FOUND_KINDS).index(kind)
    return {**_EMPTY, "order": order, "ts_ns": ts_ns, "id": identity, "kind": kind, kind: [struct]}


_EMPTY: Row = dict.fromkeys(FOUND.names)


def incident_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function that a Spark worker runs over the second stage's rows, in FOUND_ORDER; it gives FILES."""

    def write_incidents(batches: Batches) -> Iterator[pa.RecordBatch]:
        writer, files = StoryWriter(run, _WRITTEN), []
        incidents = Incidents(run.capture_ns[0])
        for batch in batches:
            for kind, row in zip(batch.column("kind").to_pylist(), _structs(batch), strict=True):
                if kind == WRITTEN_FILE:
                    files.append(row)
                else:
                    incidents.take(kind, row)
        for name, row in incidents.finish():
            writer.take(name, row)
        files += writer.close()
        if files:
            yield pa.RecordBatch.from_pylist(files, FILES)

    return write_incidents


def _structs(batch: pa.RecordBatch) -> Iterator[Row]:
    """The struct of each row."""
    structs = {kind: iter(batch.column(kind).flatten().to_pylist()) for kind in FOUND_KINDS}
    return (next(structs[kind]) for kind in batch.column("kind").to_pylist())
