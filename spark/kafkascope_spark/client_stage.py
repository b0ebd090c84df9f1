"""The first stage of the story job: runs the machines over the events of each client address.

It writes rows of tables, and passes on rows that several clients share (stories.job): events of groups and
transactions, now with the client of each connection; rows from which the incidents are made; and reports of the files
that it wrote.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE
from kafkascope_spark.exchange import NO_CLUSTER, Batches, batch_of, clusters
from kafkascope_spark.stories.clients.address import Owner
from kafkascope_spark.stories.clients.client import Story
from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.event_decoder import event_rows
from kafkascope_spark.stories.job import is_written, passed_on
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stage_rows import BODY, PassedOn, packed
from kafkascope_spark.stories.stalls.clients import service_key
from kafkascope_spark.stories.stalls.machine import FETCH_RUN
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.task_reports import REPORT

Columns = dict[str, pa.Array]

GC_OBJECTS = 200_000
"""New objects before a garbage collection: the machines make many objects and no cycles, and the default of 700 costs a
third of the time."""
CLIENT, PARTITION = "client", "partition"
"""Key kinds of events that only this stage processes."""
SHARED = pa.schema(
    [
        ("cluster", pa.string()),
        ("key_kind", pa.string()),
        ("key", pa.string()),
        ("section", pa.int8()),
        ("ts_ns", pa.int64()),
        ("rank", pa.int8()),
        ("packet_no", pa.int64()),
        ("conn_id", pa.string()),
        ("seq", pa.int32()),
        ("client_instance_id", pa.string()),
        ("group_id", pa.string()),
        ("kind", pa.string()),
        (BODY, pa.binary()),
    ]
)
"""Rows between the first and the second stage, sorted by EVENT_ORDER. conn_id: the connection; for a row that a machine
passes on, its identity, which makes the order total. group_id: the group in which the client reads. kind: kind of an
event; body: the event or the row (stage_rows)."""


def client_stage(run: StoryRun) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that Spark's workers run over each partition of events, sorted by client address and time.
    It yields rows of SHARED."""

    def follow_clients(batches: Batches) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(GC_OBJECTS, 50, 50)
        writer = StoryWriter(run)
        for cluster, of_cluster in clusters(batches):
            stories = ClientStories(run.capture_ns, run.stall_limits, writer.failed_parts)
            writer.begin_cluster(cluster)
            for batch in of_cluster:
                made = list(_passed_on(stories.feed(event_rows(batch)), writer))
                yield _of_keys(batch, stories.take_owners())
                yield batch_of(SHARED, cluster, made)
            yield batch_of(SHARED, cluster, list(_passed_on(stories.finish(), writer)))
        reports = (PassedOn(REPORT, REPORT, report, "") for report in writer.close())
        yield batch_of(SHARED, NO_CLUSTER, list(map(_shared_row, reports)))
        pa.default_memory_pool().release_unused()

    return follow_clients


def _passed_on(rows: Iterable[Story], writer: StoryWriter) -> Iterator[tuple[Any, ...]]:
    """Yields the rows for the machines over keys, and writes the others."""
    for row in rows:
        if is_written(row):
            writer.take(row)
        else:
            yield _shared_row(passed_on(row))


def _shared_row(row: PassedOn) -> tuple[Any, ...]:
    """Returns a row of SHARED without its cluster. It comes before the events of its key at the same time."""
    first = Origin(0, row.ts_ns, 0, 0, row.identity, 0, None, None)
    return (row.key_kind, row.key, *first, None, packed(row.body))


def _of_keys(batch: pa.RecordBatch, owners: dict[str, Owner]) -> pa.RecordBatch:
    """Returns the events of groups, transactions, services, servers and topic-partitions of a batch, with the client
    instance of each."""
    rows = batch.filter(pc.not_equal(batch.column("key_kind"), CLIENT))
    conn_ids = rows.column("conn_id").dictionary_encode()
    of_conn = [owners.get(conn_id, _NOBODY) for conn_id in conn_ids.dictionary.to_pylist()]
    is_service = pc.equal(rows.column("key_kind"), PARTITION)
    clients = pa.array([owner.client_instance_id for owner in of_conn], pa.string()).take(conn_ids.indices)
    columns = {name: rows.column(name) for name in SHARED.names if name in rows.schema.names}
    columns |= _service_keys(rows, is_service, of_conn, conn_ids.indices)
    columns["client_instance_id"] = clients
    columns["group_id"] = pa.array([owner.group_id for owner in of_conn], pa.string()).take(conn_ids.indices)
    of_keys = pa.RecordBatch.from_arrays([columns[field.name].cast(field.type) for field in SHARED], schema=SHARED)
    return of_keys.filter(pc.or_(pc.invert(is_service), clients.is_valid()))


_NOBODY = Owner(None, None)


def _service_keys(rows: pa.RecordBatch, is_service: pa.Array, owners: list[Owner], conn: pa.Array) -> Columns:
    """Returns key_kind, key and section of the rows. Events of a topic-partition go to the group that reads it, before
    the requests of its members to the coordinator, or to the client."""
    of_client = [service_key(each.client_instance_id or "", None) for each in owners]
    of_group = [service_key(each.client_instance_id or "", each.group_id) for each in owners]
    reads = pc.equal(rows.column("kind"), FETCH_RUN)
    columns = {}
    for number, name in enumerate(("key_kind", "key")):
        client, group = (pa.array([key[number] for key in keys], pa.string()) for keys in (of_client, of_group))
        service = pc.if_else(reads, group.take(conn), client.take(conn))
        columns[name] = pc.if_else(is_service, service, rows.column(name))
    section = rows.column("section")
    return columns | {"section": pc.if_else(is_service, pa.scalar(WHOLE, section.type), section)}
