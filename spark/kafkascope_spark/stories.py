"""`write_stories`: read the dataset's tables, run the state machines over them on Spark, write the story tables."""

import gc
import json
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import RECOVERIES, STORY_TABLES
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, DNS, ERRORS, PARTITIONS, REQUESTS
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.batches import event_rows
from kafkascope_spark.client_stories import ClientStories, TableRow
from kafkascope_spark.session import is_embedded, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAGGED = pa.schema([("table", pa.string()), *((t.name, pa.struct(list(t.schema))) for t in STORY_TABLES)])
"""What the state machines give: a struct per story table, of which `table` names the one that is set."""

BATCH_ROWS = 4_096
GC_OBJECTS = 200_000
"""The machine makes many objects and no cycles: looking for cycles after each 700 costs a third of its time."""
SMALL_CONNECTIONS = 20_000
"""Up to so many connections the stories' rows (some 30 each) pass through this process."""
SORTED_BY = {
    "clients": ["client_ip", "client_id", "first_ns", "client_instance_id"],
    "startups": ["start_ns", "startup_id"],
    "startup_steps": ["startup_id", "seq"],
    "cadences": ["client_instance_id", "conn_id", "cadence"],
    "recoveries": ["start_ns", "recovery_id"],
    "recovery_steps": ["recovery_id", "seq"],
}


def write_stories(dataset: pathlib.Path, *, master: str | None = None, remote: str | None = None) -> None:
    """Write DATASET/stories/ from the dataset's tables (dataset.stories.STORY_TABLES); older ones are replaced.

    master: a Spark master; remote: a Spark Connect server; neither: `SPARK_REMOTE` where that is set, else Spark
    inside this process. A cluster reads and writes the dataset under the same path. Raises UsageError when Spark or
    a table is missing.
    """
    if not (dataset / "_dataset.json").exists():
        raise UsageError(f"{dataset} is not a dataset: it has no _dataset.json")
    capture_ns = capture_span(dataset)
    rows = table_rows(dataset)
    session = open_session(master, remote, n_requests=rows.get(REQUESTS.name, 0))
    told = tagged_stories(session, dataset, capture_ns)
    if is_embedded(master, remote) and rows.get(CONNECTIONS.name, 0) <= SMALL_CONNECTIONS:
        write_here(told, dataset / "stories")
    else:
        write_there(told, dataset / "stories")


def table_rows(dataset: pathlib.Path) -> dict[str, int]:
    """Rows of each table, as the manifest says; empty where it does not. Raises UsageError when it is no JSON."""
    try:
        manifest = json.loads((dataset / "_dataset.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{dataset}/_dataset.json is damaged: {error}") from error
    rows = manifest.get("rows") if isinstance(manifest, dict) else None
    return rows if isinstance(rows, dict) else {}


def capture_span(dataset: pathlib.Path) -> tuple[int, int]:
    """First and last packet of all captures, in nanoseconds since the epoch; zeros when there are none."""
    place = dataset / CAPTURES.name
    if not place.is_dir():
        raise UsageError(f"{dataset} has no table {CAPTURES.name}: make the dataset again with kafkascope ingest")
    table = pq.read_table(place, columns=["first_ns", "last_ns"])
    first, last = pc.min(table["first_ns"]).as_py(), pc.max(table["last_ns"]).as_py()
    return first or 0, last or 0


def tagged_stories(session: "SparkSession", dataset: pathlib.Path, capture_ns: tuple[int, int]) -> "DataFrame":
    """All story rows of the dataset, tagged with their table (see TAGGED), recoveries without causes. Lazy."""
    from kafkascope_spark.events import Sources, client_events
    from kafkascope_spark.read import load_learned, load_optional, load_table, spark_schema
    from kafkascope_spark.vain import ids_asked_in_vain

    tables = [load_table(session, dataset, t) for t in (CONNECTIONS, REQUESTS, ERRORS, PARTITIONS)]
    learned = load_learned(session, dataset)
    dns = load_optional(session, dataset, DNS)
    told = has_topic_errors(dataset), ids_asked_in_vain(dataset)
    events = client_events(Sources(tables[0], tables[1], tables[2], tables[3], learned, dns, *told))
    return events.mapInArrow(teller(capture_ns), spark_schema(TAGGED))


def has_topic_errors(dataset: pathlib.Path) -> bool:
    """Whether the table errors names a topic without a partition anywhere."""
    place = dataset / ERRORS.name
    if next(place.rglob("*.parquet"), None) is None:
        return False
    of_topic = pc.is_valid(pc.field("topic")) & pc.is_null(pc.field("partition"))
    return bool(pads.dataset(place).head(1, columns=["topic"], filter=of_topic).num_rows)


def teller(capture_ns: tuple[int, int]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over each partition."""

    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(GC_OBJECTS, 50, 50)
        stories = ClientStories(capture_ns)
        rows: list[TableRow] = []
        for batch in batches:
            rows += stories.feed(event_rows(batch))
            while len(rows) >= BATCH_ROWS:
                yield tagged_batch(rows[:BATCH_ROWS])
                del rows[:BATCH_ROWS]
        rows += stories.finish()
        for at in range(0, len(rows), BATCH_ROWS):
            yield tagged_batch(rows[at : at + BATCH_ROWS])

    return tell


def tagged_batch(rows: list[TableRow]) -> pa.RecordBatch:
    """A batch with the schema TAGGED. Times named `*_ts` are filled from their `*_ns`."""
    return pa.RecordBatch.from_pylist([{"table": name, name: with_timestamps(name, row)} for name, row in rows], TAGGED)


_TIMES = {
    t.name: [
        (c.name, "ts_ns" if c.name == "ts" else f"{c.name[:-3]}_ns")
        for c in t.columns
        if c.type.equals(pa.timestamp("us", "UTC"))
    ]
    for t in STORY_TABLES
}


def with_timestamps(table: str, row: dict[str, object]) -> dict[str, object]:
    """The row with its `*_ts` columns, in microseconds since the epoch."""
    for ts, ns in _TIMES[table]:
        value = row[ns]
        row[ts] = value // 1000 if isinstance(value, int) else None
    return row


def write_here(told: "DataFrame", place: pathlib.Path) -> None:
    """One file a table, written by this process: few enough for its memory, and quicker than a job a table."""
    from kafkascope_spark.recoveries.causes import filled

    rows = told.toArrow()
    for table in STORY_TABLES:
        mine = flattened(rows.filter(pc.field("table") == table.name)[table.name], table.schema)
        write_table(table, filled(mine) if table is RECOVERIES else mine, place / table.name)


def flattened(structs: "pa.ChunkedArray[pa.StructScalar]", schema: pa.Schema) -> pa.Table:
    """A table of the structs' fields, in the contract's types."""
    wide = pa.Table.from_arrays([structs], names=["row"]).flatten()
    return wide.rename_columns([name.removeprefix("row.") for name in wide.column_names]).cast(schema)


def write_table(table: Table, rows: pa.Table, folder: pathlib.Path) -> None:
    """Replace the folder by one Parquet file of the rows, sorted."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ordered = rows.sort_by([(c, "ascending") for c in SORTED_BY[table.name]])
    pq.write_table(ordered, folder / "part-0.parquet", compression="zstd")


def write_there(told: "DataFrame", place: pathlib.Path) -> None:
    """A file a table and partition, sorted, written by the workers: the dataset has to be where all of them see it.

    The rows wait on the workers' disks meanwhile; this process sees none of them.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as fn

    from kafkascope_spark.recoveries.causes import with_causes

    told = told.persist(StorageLevel.DISK_ONLY)
    try:
        for table in STORY_TABLES:
            mine = told.where(told["table"] == table.name).select(f"{table.name}.*")
            mine = with_causes(mine) if table is RECOVERIES else mine
            order = [fn.col(c).asc_nulls_last() for c in SORTED_BY[table.name]]
            ordered = mine.sortWithinPartitions(*order)
            ordered.write.mode("overwrite").parquet(str((place / table.name).absolute()))
    finally:
        told.unpersist()
