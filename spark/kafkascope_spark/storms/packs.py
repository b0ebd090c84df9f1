"""Packs: files of some ten thousand rows in order, of which Spark sorts one row each, and how they are merged again.

The rows that Spark sorts name the packs (NAMING); whoever gets them sorted merges the packs that overlap (Merge). It
holds what overlaps of an address's packs: files are written in order of time, or nearly. Packs are in a folder that
all workers see, and are the caller's to remove.
"""

import itertools
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_spark.rows import KINDS

SORT = ["client_ip", "section", "ts_ns", "rank", "packet_no", "tie"]
"""What events are sorted by; packet_no and tie are of no use but for that."""
PACKED = "packed"
"""Column of the events: the file of a pack that begins with this row's keys; null in a row that is an event itself."""
NAMING = f"client_ip string, section int, ts_ns bigint, rank int, packet_no bigint, tie string, {PACKED} string"
"""Spark's schema of the rows that name packs."""
PACK_ROWS = 8_192
"""Rows of a pack, at least, where a file has so many."""
MERGED_ROWS = 65_536
"""Rows that are merged at a time: a storm is told a batch's stretch at a time (runs)."""

Longs = npt.NDArray[np.int64]
Join = Callable[[list[pa.RecordBatch], Longs, pa.Schema], pa.RecordBatch]
"""Makes one batch of parts in the order given, of all their rows one after the other, for rows of that schema."""


def keyed(rows: pa.RecordBatch, rank: int | pa.Array, packet_no: pa.Array | None, tie: pa.Array) -> dict[str, pa.Array]:
    """The columns SORT of events in section 1."""
    n = rows.num_rows
    return {
        "client_ip": rows.column("client_ip"),
        "section": pa.repeat(pa.scalar(1, pa.int32()), n),
        "ts_ns": rows.column("ts_ns"),
        "rank": pa.repeat(pa.scalar(rank, pa.int32()), n) if isinstance(rank, int) else rank,
        "packet_no": pa.repeat(pa.scalar(0, pa.int64()), n) if packet_no is None else pc.fill_null(packet_no, 0),
        "tie": tie,
    }


def bodies(rows: pa.RecordBatch, columns: list[str]) -> pa.ListArray:
    """A list for each row, of one struct with these columns."""
    structs = pa.StructArray.from_arrays([rows.column(name) for name in columns], columns)
    return pa.ListArray.from_arrays(pa.array(np.arange(rows.num_rows + 1, dtype=np.int32)), structs)


def packer(place: pathlib.Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows (SORT and any others) in packs; gives the rows that name them."""
    for batch in _gathered(batches):
        for address in pc.unique(batch.column("client_ip")):
            pack = _in_place(batch.filter(pc.equal(batch.column("client_ip"), address)))
            path = place / uuid.uuid4().hex
            _write(pack, path)
            keys = [pack.column(name).slice(0, 1) for name in SORT]
            yield pa.RecordBatch.from_arrays([*keys, pa.array([str(path)])], [*SORT, PACKED])


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, so many at a time that they are worth a file."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
        if sum(rows.num_rows for rows in waiting) >= PACK_ROWS:
            yield pa.concat_batches(waiting)
            waiting.clear()
    if waiting:
        yield pa.concat_batches(waiting)


def _write(pack: pa.RecordBatch, path: pathlib.Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, pack.schema, options=options) as file:
        file.write_batch(pack)


def _in_place(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of one address and section in the order that Spark sorts them in."""
    order = order_of([batch])
    return batch if (np.diff(order) == 1).all() else batch.take(pa.array(order))


def order_of(parts: list[pa.RecordBatch]) -> Longs:
    """How the rows of the parts, one after the other, are to be sorted."""
    times, ranks = (np.concatenate([_numbers(part, name) for part in parts]) for name in ("ts_ns", "rank"))
    order: Longs = np.lexsort((ranks, times))
    is_tie = (np.diff(times[order]) == 0) & (np.diff(ranks[order]) == 0)
    if is_tie.any():
        keys = pa.Table.from_batches([part.select(SORT[2:]) for part in parts])
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in SORT[2:]]).to_numpy()
    return order


def in_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of the sorted rows and of their packs, in order. Rows among which are no packs pass as they are."""
    merge = Merge(events_joined)
    for batch in batches:
        if PACKED in batch.schema.names:
            yield from merge.feed(batch)
        else:
            yield batch
    yield from merge.finish()


class Merge:
    """Merges rows and packs of one address after the other; a batch that it gives is of one address."""

    def __init__(self, join: Join, most_rows: int | None = None) -> None:
        self._join = join
        self._most_rows = most_rows or MERGED_ROWS
        """Rows of which it gives what it can."""
        self._schema: pa.Schema | None = None
        """Of the rows that it is fed."""
        self._open: list[pa.RecordBatch] = []
        """Of the address, what may still overlap with what comes: each in order."""
        self._n_open = 0
        self._address: str | None = None

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """What can be told now."""
        self._schema = batch.schema
        if not self._open and batch.column(PACKED).null_count == batch.num_rows:
            yield batch
            return
        for part in _by_address(batch):
            address = part.column("client_ip")[0].as_py()
            if address != self._address:
                yield from self.finish()
            self._address = address
            yield from self._take(part)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is left of the address."""
        if self._open:
            yield from self._give(None)

    def _take(self, part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        packed = np.flatnonzero(part.column(PACKED).is_valid().to_numpy(zero_copy_only=False))
        if not self._open:
            first = int(packed[0]) if len(packed) else part.num_rows
            if first:
                yield part.slice(0, first)
            part, packed = part.slice(first), packed - first
        if not part.num_rows:
            return
        self._hold(part.filter(pc.is_null(part.column(PACKED))))
        paths, times = part.column(PACKED), _numbers(part, "ts_ns")
        for at in packed.tolist():
            if self._n_open >= self._most_rows:
                yield from self._give(int(times[at]))
            self._hold(_read(paths[at].as_py()))
        if self._n_open >= self._most_rows:
            yield from self._give(int(times[-1]))

    def _hold(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self._open.append(rows)
            self._n_open += rows.num_rows

    def _give(self, before_ns: int | None) -> Iterator[pa.RecordBatch]:
        """Everything before that time, in order; None: everything."""
        due, rest = [], []
        for rows in self._open:
            n = rows.num_rows if before_ns is None else int(np.searchsorted(_numbers(rows, "ts_ns"), before_ns))
            due.append(rows.slice(0, n))
            if n < rows.num_rows:
                rest.append(rows.slice(n))
        self._open, self._n_open = rest, sum(rows.num_rows for rows in rest)
        due = [rows for rows in due if rows.num_rows]
        if due and self._schema is not None:
            yield self._join(due, order_of([part.select(SORT) for part in due]), self._schema)


def columns_joined(parts: list[pa.RecordBatch], order: Longs, _: pa.Schema) -> pa.RecordBatch:
    """Parts that have the same columns."""
    return pa.concat_batches(parts).take(pa.array(order))


def events_joined(parts: list[pa.RecordBatch], order: Longs, schema: pa.Schema) -> pa.RecordBatch:
    """Events of one address and section, without what they are sorted by only; packs have the lists of their own kinds
    (rows.KINDS). Of each kind, most parts follow one another: structs are moved only where they do not."""
    n = len(order)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    begins = np.cumsum([0, *(part.num_rows for part in parts)])
    columns = {"client_ip": pa.repeat(parts[0].column("client_ip")[0], n)}
    for name in ("section", "ts_ns", "rank"):
        column = pa.concat_arrays([part.column(name).cast(schema.field(name).type) for part in parts])
        columns[name] = column.take(pa.array(order))
    for name in KINDS.values():
        type_ = schema.field(name).type.value_type
        lists = [(at, part.column(name)) for at, part in zip(begins, parts, strict=False) if name in part.schema.names]
        rows = [begin + np.flatnonzero(_valid(each)) for begin, each in lists]
        places = place[np.concatenate(rows)] if rows else np.zeros(0, np.int64)
        columns[name] = _lists(places, [_conformed(each.flatten(), type_) for _, each in lists], n, type_)
    return pa.RecordBatch.from_pydict(columns)


def _conformed(structs: pa.StructArray, type_: pa.StructType) -> pa.StructArray:
    """The same, in the type that Spark gives for them."""
    if structs.type == type_:
        return structs
    return pa.StructArray.from_arrays([structs.field(f.name).cast(f.type) for f in type_], fields=list(type_))


def _lists(places: Longs, structs: list[pa.StructArray], n: int, type_: pa.StructType) -> pa.ListArray:
    """n lists, with one of the structs in each of the places; the others null."""
    if not len(places):
        return pa.nulls(n, pa.list_(type_))
    values = pa.concat_arrays(structs)
    if (np.diff(places) < 0).any():
        values = values.take(pa.array(np.argsort(places, kind="stable")))
    is_there = np.zeros(n, bool)
    is_there[places] = True
    offsets = np.concatenate([[0], np.cumsum(is_there)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~is_there))


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _by_address(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The stretches of equal client_ip."""
    codes = pc.dictionary_encode(batch.column("client_ip")).indices.to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
    for begin, end in itertools.pairwise(edges):
        if end > begin:
            yield batch.slice(begin, end - begin)


def _read(path: str) -> pa.RecordBatch:
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).get_batch(0)


def _numbers(batch: pa.RecordBatch, name: str) -> Longs:
    numbers: Longs = batch.column(name).to_numpy(zero_copy_only=False)
    return numbers
