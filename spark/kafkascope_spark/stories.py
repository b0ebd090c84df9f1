"""`write_stories`: read the dataset's tables, run the state machines over them on Spark, write the story tables."""

import contextlib
import gc
import pathlib
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import STORIES, Dataset
from kafkascope_analyzer.dataset.manifest import written_files
from kafkascope_analyzer.dataset.stories import CLIENT_TABLES, FINDINGS, REBALANCES, TRANSACTIONS
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, DNS, ERRORS, PARTITIONS, REQUESTS
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.batches import event_rows
from kafkascope_spark.client_files import BATCH_ROWS, GC_OBJECTS, write_client_tables
from kafkascope_spark.client_stories import ClientStories, TableRow
from kafkascope_spark.session import LARGE_REQUESTS, is_embedded, open_session
from kafkascope_spark.storms.packs import in_order
from kafkascope_spark.storms.storm import Storm, packs_of, storm_of
from kafkascope_spark.story_files import tag_schema, tagged, times_of, write_here, write_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkascope_spark.events import Sources
    from kafkascope_spark.tables import Tables

TAGGED = tag_schema(CLIENT_TABLES)
"""What the state machine over clients gives."""

SMALL_CONNECTIONS = 20_000
"""Up to so many connections the stories' rows (some 30 each) pass through this process."""


def write_stories(
    dataset: pathlib.Path,
    *,
    master: str | None = None,
    remote: str | None = None,
    ignored: Collection[str] = (),
) -> None:
    """Write DATASET/stories/ from the dataset's tables (dataset.stories.STORY_TABLES); older ones are replaced.

    master: a Spark master; remote: a Spark Connect server; neither: `SPARK_REMOTE` where that is set, else Spark
    inside this process. A cluster reads and writes the dataset under the same path. ignored: rules that are not asked.
    Raises UsageError when Spark or a table is missing.
    """
    opened = Dataset.open(dataset)
    capture_ns = capture_span(dataset)
    n_requests = opened.rows(REQUESTS.name)
    n_connections = opened.rows(CONNECTIONS.name)
    storm = storm_of(dataset)
    is_storm = storm is not None and 2 * opened.rows(ERRORS.name) > n_requests
    session = open_session(master, remote, n_requests=n_requests, n_connections=n_connections, has_storm=is_storm)
    from kafkascope_spark.tables import Tables

    few = n_connections <= SMALL_CONNECTIONS
    write = write_here if few and is_embedded(master, remote) else write_there
    with packing(dataset, storm):
        if write is write_here:
            write_here(tagged_stories(session, dataset, capture_ns, storm), CLIENT_TABLES, dataset / "stories")
        else:
            write_client_tables(events_of(session, dataset, storm), capture_ns, dataset / "stories")
    tables = Tables(session, dataset, capture_ns, few and n_requests < LARGE_REQUESTS, n_requests)
    told = across_clients(tables)
    write(tagged(told), list(told), dataset / "stories")
    told = diagnoses(tables, ignored)
    write(tagged(told), list(told), dataset / "stories")
    written = written_files(dataset)
    opened.commit_stories({name: files for name, files in written.items() if name.startswith(f"{STORIES}/")})


def across_clients(tables: "Tables") -> "dict[Table, DataFrame]":
    """What is told of groups and of transactional ids; it reads the clients. Lazy."""
    from kafkascope_spark.rebalances.transform import rebalances
    from kafkascope_spark.transactions.transform import transactions

    return {REBALANCES: rebalances(tables), TRANSACTIONS: transactions(tables)}


def diagnoses(tables: "Tables", ignored: Collection[str] = ()) -> "dict[Table, DataFrame]":
    """What is wrong, by the rules that are not ignored; it reads all that is told before. Lazy."""
    from kafkascope_spark.findings.rules import RULES
    from kafkascope_spark.findings.transform import findings

    return {FINDINGS: findings(tables, [rule for rule in RULES if rule.name not in ignored])}


def capture_span(dataset: pathlib.Path) -> tuple[int, int]:
    """First and last packet of all captures, in nanoseconds since the epoch; zeros when there are none."""
    place = dataset / CAPTURES.name
    if not place.is_dir():
        raise UsageError(f"{dataset} has no table {CAPTURES.name}: make the dataset again with kafkascope ingest")
    import pyarrow.parquet as pq

    table = pq.read_table(place, columns=["first_ns", "last_ns"])
    first, last = pc.min(table["first_ns"]).as_py(), pc.max(table["last_ns"]).as_py()
    return first or 0, last or 0


def tagged_stories(
    session: "SparkSession", dataset: pathlib.Path, capture_ns: tuple[int, int], storm: Storm | None = None
) -> "DataFrame":
    """All story rows of the dataset, tagged with their table (see TAGGED), recoveries without causes. Lazy."""
    from kafkascope_spark.read import spark_schema

    return events_of(session, dataset, storm).mapInArrow(teller(capture_ns), spark_schema(TAGGED))


def events_of(session: "SparkSession", dataset: pathlib.Path, storm: Storm | None = None) -> "DataFrame":
    """What the state machine over clients is fed (events.client_events). storm: whose packs' folder has to be there
    meanwhile (packing). Lazy."""
    from kafkascope_spark.events import Sources, client_events
    from kafkascope_spark.read import load_learned, load_optional, load_table
    from kafkascope_spark.vain import ids_asked_in_vain

    tables = [load_table(session, dataset, t) for t in (CONNECTIONS, REQUESTS, ERRORS, PARTITIONS)]
    learned = load_learned(session, dataset)
    dns = load_optional(session, dataset, DNS)
    vain_ids = ids_asked_in_vain(dataset)
    told = Sources(tables[0], tables[1], tables[2], tables[3], learned, dns, has_topic_errors(dataset), vain_ids)
    return client_events(told if storm is None else _apart(told, session, storm))


def _apart(sources: "Sources", session: "SparkSession", storm: Storm) -> "Sources":
    """The same, where workers read the storm's events."""
    from kafkascope_spark.storms.mentions import stormy_mentions
    from kafkascope_spark.storms.read import stormy_requests
    from kafkascope_spark.vain import ids_asked_in_vain_by

    ids = sources.vain_ids
    vain = ids_asked_in_vain_by(storm.dataset, storm.addresses) if ids is None else pa.array(ids, pa.string())
    packed = stormy_mentions(session, storm, vain), stormy_requests(session, storm)
    return replace(sources, stormy=storm.addresses, packed=packed)


@contextlib.contextmanager
def packing(dataset: pathlib.Path, storm: Storm | None) -> Iterator[None]:
    """A folder for the packs of a storm, meanwhile."""
    place = packs_of(dataset)
    shutil.rmtree(place, ignore_errors=True)
    if storm is not None:
        place.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def has_topic_errors(dataset: pathlib.Path) -> bool:
    """Whether the table errors names a topic without a partition anywhere."""
    import pyarrow.dataset as pads

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
        for batch in in_order(batches):
            rows += stories.feed(event_rows(batch))
            while len(rows) >= BATCH_ROWS:
                yield tagged_batch(rows[:BATCH_ROWS])
                del rows[:BATCH_ROWS]
        rows += stories.finish()
        for at in range(0, len(rows), BATCH_ROWS):
            yield tagged_batch(rows[at : at + BATCH_ROWS])
        pa.default_memory_pool().release_unused()

    return tell


def tagged_batch(rows: list[TableRow]) -> pa.RecordBatch:
    """A batch with the schema TAGGED. Times named `*_ts` are filled from their `*_ns`."""
    return pa.RecordBatch.from_pylist([{"table": name, name: with_timestamps(name, row)} for name, row in rows], TAGGED)


_TIMES = {table.name: times_of(table) for table in CLIENT_TABLES}


def with_timestamps(table: str, row: dict[str, object]) -> dict[str, object]:
    """The row with its `*_ts` columns, in microseconds since the epoch."""
    for ts, ns in _TIMES[table]:
        value = row[ns]
        row[ts] = value // 1000 if isinstance(value, int) else None
    return row
