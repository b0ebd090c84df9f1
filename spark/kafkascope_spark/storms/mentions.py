"""Mentions of topic-partitions by the addresses that have a storm: what events.only_after_errors gives of them, in
packs. Workers read the dataset's files and write packs of those that may be told (MentionsOf, DeniedOf); whoever gets
an address's packs sorted says which are (followed)."""

import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS
from kafkascope_spark import wire
from kafkascope_spark.events import AFTER_ERROR, MENTION, MENTIONED_BY, MENTIONED_BY_SHARE, TOUCH, WORK
from kafkascope_spark.storms.following import Following
from kafkascope_spark.storms.packs import NAMING, SORT, Merge, bodies, columns_joined, keyed, packer
from kafkascope_spark.storms.read import Reader, packed_by_workers
from kafkascope_spark.storms.storm import NAMED, Storm, files_of, scanned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SEPARATOR, _NULL = "\0", "\1"
"""Between the parts of a name, and for a part that is null: no topic and no client id has such a character."""
_APART = ("by_partition", "by_topic")
"""Columns of mentions: whether what follows a failure of the topic-partition is looked for, and of the whole topic."""
_NAMES = tuple(f"name_{name}" for name in _APART)
"""What failures are of: the client and its topic-partition, or topic."""
_MERGED_ROWS = 16_384
"""Mentions that are looked through at a time: all are of one client, and nobody needs them in long stretches."""


def stormy_mentions(session: "SparkSession", storm: Storm, vain: pa.Array) -> "DataFrame":
    """Rows that name packs of touches. vain: ids of the requests that failed with their connection. Lazy."""
    read = packed_by_workers(session, mentions_work(storm, vain), storm.packs)
    return read.repartition("client_ip").sortWithinPartitions(*SORT).mapInArrow(followed(storm.packs), NAMING)


def mentions_work(storm: Storm, vain: pa.Array) -> list[tuple[Reader, pathlib.Path]]:
    """The files that have mentions, each with who reads it."""
    mentions = MentionsOf(storm, _broken(storm, vain), vain)
    work: list[tuple[Reader, pathlib.Path]] = [(mentions, path) for path in files_of(storm.dataset, PARTITIONS)]
    if storm.broken["partition"].null_count:
        work += [(DeniedOf(storm), path) for path in files_of(storm.dataset, ERRORS)]
    return work


def followed(packs: pathlib.Path) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over the sorted rows that name packs of mentions."""

    def follow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from packer(packs, map(_touches, told_mentions(batches)))
        pa.default_memory_pool().release_unused()

    return follow


def told_mentions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The mentions that are told, of the packs that these rows name."""
    merge, told, address = Merge(columns_joined, _MERGED_ROWS), Told(), None
    for rows in _merged(merge, batches):
        if rows.column("client_ip")[0].as_py() != address:
            yield from told.finish()
            told, address = Told(), rows.column("client_ip")[0].as_py()
        yield from told.feed(rows)
    yield from told.finish()


def _merged(merge: Merge, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            yield from merge.feed(batch)
    yield from merge.finish()


class Told:
    """Which mentions of one address are told: they follow a failure of their topic-partition, or of their topic."""

    def __init__(self) -> None:
        self._following = {name: Following(AFTER_ERROR) for name in _APART}
        self._keys: dict[str, int] = {}
        self._n = 0
        self._known = pa.array([], pa.int64())
        """Numbers of mentions that were told for one of these reasons while the other is undecided."""

    def feed(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """What is told now."""
        rows = rows.append_column("number", pa.array(range(self._n, self._n + rows.num_rows), pa.int64()))
        self._n += rows.num_rows
        for name, following in self._following.items():
            mine = rows.filter(rows.column(name))
            if mine.num_rows:
                numbered = mine.append_column("key", self._numbered(name, mine)).drop_columns(list(_NAMES))
                yield self._once(following.feed(numbered))
        held = [f.held.column("number") for f in self._following.values() if f.held is not None]
        self._known = self._known.filter(pc.is_in(self._known, pa.concat_arrays(held))) if held else self._known[:0]

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What was undecided."""
        for following in self._following.values():
            if following.held is not None:
                yield self._once(following.held)

    def _numbered(self, name: str, rows: pa.RecordBatch) -> pa.Array:
        """A number for each client and topic-partition, or topic."""
        coded = pc.dictionary_encode(rows.column(f"name_{name}"))
        numbers = [self._keys.setdefault(key, len(self._keys)) for key in coded.dictionary.to_pylist()]
        return pa.array(numbers, pa.int64()).take(coded.indices)

    def _once(self, told: pa.RecordBatch) -> pa.RecordBatch:
        fresh = told.filter(pc.invert(pc.is_in(told.column("number"), self._known)))
        self._known = pa.concat_arrays([self._known, fresh.column("number")])
        return fresh


def _touches(mentions: pa.RecordBatch) -> pa.RecordBatch:
    """Mentions as events."""
    partition = mentions.column("partition").cast(pa.string())
    direction = pc.if_else(pc.equal(mentions.column("rank"), 0), "request", "response")
    named = [mentions.column("request_id"), direction, mentions.column("topic"), partition]
    tie = pc.binary_join_element_wise(*named, "|", null_handling="skip")
    return pa.RecordBatch.from_pydict({**keyed(mentions, 2, None, tie), "touch": bodies(mentions, TOUCH)})


class MentionsOf:
    """Reads the mentions of topic-partitions that had an error, and once more those of requests asked in vain: sorted
    as answers are, and failed. broken: topics and partitions that had one (storm.Storm)."""

    def __init__(self, storm: Storm, broken: pa.Table, vain: pa.Array) -> None:
        self._storm = storm
        self._vain = vain
        of_topic = pc.is_null(broken["partition"])
        self._topics = broken["topic"].filter(of_topic).combine_chunks()
        self._partitions = _name(*broken.filter(pc.invert(of_topic)).columns).combine_chunks()

    def read(self, path: pathlib.Path) -> Iterator[pa.RecordBatch]:
        """The rows of a file that packs are made of."""
        clients = _clients(self._storm)
        which = pc.field("api_key").isin([*MENTIONED_BY, *MENTIONED_BY_SHARE]) & pc.is_valid(pc.field("topic"))
        for rows in scanned(path, PARTITIONS, [*MENTION, "leader_id", "current_leader_id"], which):
            mine = rows.filter(pc.is_in(rows.column("conn_id"), clients.column("conn_id")))
            by_topic = pc.is_in(mine.column("topic"), self._topics)
            by_partition = pc.or_(by_topic, pc.is_in(_name(mine["topic"], mine["partition"]), self._partitions))
            reasons = {"by_partition": by_partition, "by_topic": by_topic}
            yield _mentions(mine, clients, reasons, vain=False).filter(by_partition)
            is_vain = pc.and_(pc.is_in(mine.column("request_id"), self._vain), pc.equal(mine["direction"], "request"))
            if is_vain.true_count:
                asked = mine.filter(is_vain)
                yield _mentions(asked, clients, _reasons(asked, by_partition=True), vain=True)


class DeniedOf:
    """Reads the errors of whole topics (Metadata), as mentions: the table partitions has no row for them."""

    def __init__(self, storm: Storm) -> None:
        self._storm = storm

    def read(self, path: pathlib.Path) -> Iterator[pa.RecordBatch]:
        """The rows of a file that packs are made of."""
        clients = _clients(self._storm)
        which = pc.is_valid(pc.field("topic")) & pc.is_null(pc.field("partition")) & (pc.field("error_code") != 0)
        columns = [name for name in MENTION if name != "direction"]
        for rows in scanned(path, ERRORS, [*columns, "client_ip"], which & self._storm.is_mine):
            mine = rows.filter(pc.is_in(rows.column("conn_id"), clients.column("conn_id")))
            unknown = pa.nulls(mine.num_rows, pa.int32())
            whole = {name: mine[name] for name in columns} | {"leader_id": unknown, "current_leader_id": unknown}
            whole["direction"] = pa.repeat("response", mine.num_rows)
            yield _mentions(pa.RecordBatch.from_pydict(whole), clients, _reasons(mine, by_partition=False), vain=False)


def _reasons(rows: pa.RecordBatch, *, by_partition: bool) -> dict[str, pa.Array]:
    return {
        "by_partition": pa.repeat(by_partition, rows.num_rows),
        "by_topic": pa.repeat(not by_partition, rows.num_rows),
    }


def _mentions(
    rows: pa.RecordBatch, clients: pa.RecordBatch, reasons: dict[str, pa.Array], *, vain: bool
) -> pa.RecordBatch:
    """What Following and TOUCH ask of the rows (MENTION, leader_id, current_leader_id), as events._marked and
    events._kind say it; with the keys that packs are sorted by."""
    who = pc.index_in(rows["conn_id"], clients.column("conn_id"))
    client_ip, client_id = (clients.column(name).take(who) for name in ("client_ip", "client_id"))
    is_answer = pa.repeat(True, rows.num_rows) if vain else pc.equal(rows["direction"], "response")
    failed = pa.repeat(True, rows.num_rows) if vain else pc.not_equal(pc.fill_null(rows["error_code"], 0), 0)
    answered = pa.repeat(False, rows.num_rows) if vain else is_answer
    leader_id = pc.coalesce(rows["leader_id"], rows["current_leader_id"])
    hints = pc.and_(pc.and_(failed, answered), pc.greater_equal(pc.fill_null(leader_id, -1), 0))
    is_vain = pa.repeat(vain, rows.num_rows)
    located = pa.RecordBatch.from_pydict({"client_ip": client_ip, "ts_ns": rows["ts_ns"]})
    columns = keyed(located, is_answer.cast(pa.int32()), None, rows["request_id"])
    columns |= {name: rows[name] for name in ("request_id", "conn_id", "api_key", "topic", "partition")}
    columns |= {"leader_id": leader_id, "failed": failed, "answered": answered, "hints": hints, "vain": is_vain}
    columns |= {"kind": _kind(rows["api_key"], is_answer), "wanted": pc.or_(hints, is_vain)}
    names = _name(client_id, rows["topic"], rows["partition"]), _name(client_id, rows["topic"])
    unnamed = pa.nulls(rows.num_rows, pa.string())
    for column, by, name in zip(_NAMES, _APART, names, strict=True):
        columns[column] = pc.if_else(reasons[by], name, unnamed)
    return pa.RecordBatch.from_pydict(columns | reasons)


def _kind(api_key: pa.Array, is_answer: pa.Array) -> pa.Array:
    """The number of events._kind."""
    work = pc.is_in(api_key, pa.array(WORK, api_key.type))
    of_work = pc.if_else(is_answer, 1, 0)
    return pc.if_else(work, of_work, pc.if_else(pc.equal(api_key, wire.METADATA), 2, 3)).cast(pa.int32())


def _name(*parts: pa.Array) -> pa.Array:
    texts = [part.cast(pa.string()) for part in parts]
    return pc.binary_join_element_wise(*texts, _SEPARATOR, null_handling="replace", null_replacement=_NULL)


def _clients(storm: Storm) -> pa.RecordBatch:
    """conn_id, client_ip and client_id (the first) of the connections of the storm's addresses."""
    found = [CONNECTIONS.schema.empty_table().select(["conn_id", "client_ip", "client_ids"])]
    for path in files_of(storm.dataset, CONNECTIONS):
        rows = scanned(path, CONNECTIONS, found[0].column_names, storm.is_mine)
        found += [pa.Table.from_batches([batch]).cast(found[0].schema) for batch in rows]
    conn_id, client_ip, ids = (column.combine_chunks() for column in pa.concat_tables(found).columns)
    has_id = pc.greater(pc.fill_null(pc.list_value_length(ids), 0), 0)
    client_id = pc.replace_with_mask(pa.nulls(len(ids), pa.string()), has_id, pc.list_element(ids.filter(has_id), 0))
    return pa.RecordBatch.from_arrays([conn_id, client_ip, client_id], ["conn_id", "client_ip", "client_id"])


def _broken(storm: Storm, vain: pa.Array) -> pa.Table:
    """Topics and partitions that errors name, and those that were asked for in vain."""
    found = [storm.broken]
    for path in files_of(storm.dataset, PARTITIONS) if len(vain) else ():
        asked = pc.field("request_id").isin(vain) & (pc.field("direction") == "request")
        batches = scanned(path, PARTITIONS, [*NAMED, "request_id", "direction"], asked)
        found += [pa.Table.from_batches([batch.select(NAMED)]).cast(storm.broken.schema) for batch in batches]
    return pa.concat_tables(found).group_by(NAMED).aggregate([]).select(NAMED)
