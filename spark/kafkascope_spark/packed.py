"""How the events of an address with a storm of errors get to the machine that tells its story: packed, some ten
thousand in one file, of which Spark sorts one row.

Spark sorts events row by row, by columns that are all the same in a storm, and each row is wide. So a worker writes
what it reads of a storm in packs, each in order (packer); the rows that Spark sorts name the packs; and the worker
that tells the story merges the packs that overlap (in_order). It holds what overlaps of the address's packs: files
are written in order of time, or nearly. Packs are in a folder that all workers see, and are the caller's to remove.
"""

import itertools
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.rows import KINDS

SORT = ["client_ip", "section", "ts_ns", "rank", "packet_no", "tie"]
"""What events are sorted by; packet_no and tie are of no use but for that."""
PACKED = "packed"
"""Column of the events: the file of a pack that begins with this row's keys; null in a row that is an event itself."""
LEAST_ROWS = 256
"""Fewer events of an address in a batch are not worth a file."""
MERGED_ROWS = 65_536
"""Events that are merged at a time: a storm is told a batch's stretch at a time (runs)."""
STORM_ERRORS = 50_000
"""From so many errors of one address on its events are packed."""


def storming(dataset: pathlib.Path, least: int = STORM_ERRORS) -> tuple[str, ...]:
    """Addresses of clients with so many errors, by the dataset's table."""
    import pyarrow.dataset as pads

    place = dataset / ERRORS.name
    if next(place.rglob("*.parquet"), None) is None:
        return ()
    rows = pads.dataset(place)
    if rows.count_rows() < least:
        return ()
    found: dict[str, int] = {}
    for batch in rows.to_batches(columns=["client_ip"], use_threads=False, batch_readahead=1, fragment_readahead=1):
        for one in pc.value_counts(batch.column(0)).to_pylist():
            if one["values"] is not None:
                found[one["values"]] = found.get(one["values"], 0) + one["counts"]
    pa.default_memory_pool().release_unused()
    return tuple(sorted(address for address, n in found.items() if n >= least))


def packer(place: str, addresses: tuple[str, ...]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run over the events, with the column PACKED, before they are sorted."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whose = pa.array(addresses, pa.string())
        folder = pathlib.Path(place)
        for batch in batches:
            mine = pc.and_(pc.is_in(batch.column("client_ip"), whose), pc.equal(batch.column("section"), 1))
            if mine.true_count < LEAST_ROWS:
                yield batch
                continue
            for address in pc.unique(batch.column("client_ip").filter(mine)):
                is_its = pc.and_(mine, pc.equal(batch.column("client_ip"), address))
                pack = in_place(batch.filter(is_its))
                path = folder / uuid.uuid4().hex
                _write(pack, path)
                yield _named(pack, path)
            if mine.true_count < batch.num_rows:
                yield batch.filter(pc.invert(mine))

    return pack


def _write(pack: pa.RecordBatch, path: pathlib.Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, pack.schema, options=options) as file:
        file.write_batch(pack)


def _named(pack: pa.RecordBatch, path: pathlib.Path) -> pa.RecordBatch:
    """The row that stands for the pack."""
    columns = [
        pa.array([str(path)]) if field.name == PACKED else column[:1] if field.name in SORT else pa.nulls(1, field.type)
        for field, column in zip(pack.schema, pack.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pack.schema)


def in_place(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The events of one address and section in the order that Spark sorts them in."""
    order = order_of([batch])
    return batch if (np.diff(order) == 1).all() else batch.take(pa.array(order))


def order_of(parts: list[pa.RecordBatch]) -> npt.NDArray[np.int64]:
    """How the rows of the parts, one after the other, are to be sorted."""
    times, ranks = (np.concatenate([_numbers(part, name) for part in parts]) for name in ("ts_ns", "rank"))
    order: npt.NDArray[np.int64] = np.lexsort((ranks, times))
    is_tie = (np.diff(times[order]) == 0) & (np.diff(ranks[order]) == 0)
    if is_tie.any():
        keys = pa.Table.from_batches([part.select(SORT[2:]) for part in parts])
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in SORT[2:]]).to_numpy()
    return order


def in_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of the sorted rows and of their packs, in order. Rows that were never packed pass as they are."""
    merge = Merge()
    for batch in batches:
        if PACKED in batch.schema.names:
            yield from merge.feed(batch)
        else:
            yield batch
    yield from merge.finish()


class Merge:
    """Merges rows and packs of one address after the other."""

    def __init__(self) -> None:
        self._open: list[pa.RecordBatch] = []
        """Of the address, what may still overlap with what comes: each in order."""
        self._n_open = 0
        self._address: str | None = None

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """What can be told now."""
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
            if self._n_open >= MERGED_ROWS:
                yield from self._give(int(times[at]))
            self._hold(_read(paths[at].as_py()))
        if self._n_open >= MERGED_ROWS:
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
        if due:
            yield merged(due)


def merged(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The events of one address and section in order, from parts that are each in order; without what they are sorted
    by only. Of each kind of event, most parts follow one another: structs are moved only where they do not."""
    order = order_of([part.select(SORT) for part in parts])
    n = len(order)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    begins = np.cumsum([0, *(part.num_rows for part in parts)])
    columns = {"client_ip": pa.repeat(parts[0].column("client_ip")[0], n)}
    for name in ("section", "ts_ns", "rank"):
        column = pa.concat_arrays([part.column(name) for part in parts])
        columns[name] = column.take(pa.array(order))
    for name in KINDS.values():
        lists = [part.column(name) for part in parts]
        rows = [begin + np.flatnonzero(_valid(each)) for begin, each in zip(begins, lists, strict=False)]
        columns[name] = _lists(place[np.concatenate(rows)], [each.flatten() for each in lists], n)
    return pa.RecordBatch.from_pydict(columns)


def _lists(places: npt.NDArray[np.int64], structs: list[pa.StructArray], n: int) -> pa.ListArray:
    """n lists, with one of the structs in each of the places; the others null."""
    if not len(places):
        return pa.nulls(n, pa.list_(structs[0].type))
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


def _numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False)
    return numbers
