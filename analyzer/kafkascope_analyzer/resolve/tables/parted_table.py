"""Writes tables whose rows are made of the spill, one part after the other, and decides which files of earlier runs
stay.

With `--append` each run spills a part. The rows of a part depend on its content, on columns of its connections, and on
the names of its topics. So a file of such a table lists the parts of which it was made, each with a digest of these
columns and names. A later run keeps the files whose parts would give the same rows again, and writes the others. The
part that the end of the scan has spilled is spilled again by the next run: it has a file of its own, which is never
kept.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.parquet_files import DatasetFile
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.memory.free_memory import stay_below
from kafkascope_analyzer.resolve.cut_at_uncovered import with_unknown_answers
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.contract_rows import Names
from kafkascope_analyzer.resolve.tables.finished_files import open_part
from kafkascope_analyzer.scan.named_in_parts import NAMED
from kafkascope_analyzer.scan.spill import END, joined_batches, read_spill, spilled_batches, spilled_parts

_DIGEST_BYTES = 12
"""Length of digests in bytes. With twelve bytes, two of some thousand parts have the same digest in one of 10^22
datasets."""
_NOTHING_NAMED = pa.schema([("conn", pa.int64()), ("topic_id", pa.string())]).empty_table()


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Facts that complete the rows of a bucket's parts. close_ns: end of each connection by number; uncovered: the
    times that no file covers."""

    names: Names
    close_ns: pa.ChunkedArray
    uncovered: Uncovered

    def with_answers(self, requests: pa.Table) -> pa.Table:
        """Returns spilled requests, with the status not_captured where the response may be in no file."""
        return with_unknown_answers(requests, self.close_ns, self.uncovered)


class PartedTable:
    """Writes a table of a bucket, part by part. spilled: the spilled tables of which it is made."""

    def __init__(self, bucket: Bucket, table: Table, spilled: Sequence[str], facts: RowFacts) -> None:
        self._bucket = bucket
        self.parts = spilled_parts(bucket.spill, spilled)
        self.keys, self.kept = dict[int, str](), tuple[DatasetFile, ...]()
        """For each part that no later run changes, a text that identifies its rows."""
        if bucket.earlier is not None:
            settled = (part for part in self.parts if part != END)
            self.keys = {part: _key(bucket, part, _digest(bucket, table, spilled, part, facts)) for part in settled}
            self.kept = bucket.earlier.kept(table.name, self.keys.values())
        made = {key for file in self.kept for key in file.made_of}
        self.is_kept = frozenset(part for part, key in self.keys.items() if key in made)
        """The parts whose files of earlier runs stay."""
        new = [key for key in self.keys.values() if key not in made]
        self._settled, self._open = (
            bucket.writer(table, bucket.part, new),
            bucket.writer(table, open_part(bucket.part)),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, including kept files."""
        return self._settled.n_rows + self._open.n_rows + sum(file.rows for file in self.kept)

    def batches(self, name: str, of_kept: NDArray[np.bool_] | None = None) -> Iterator[tuple[int, pa.Table]]:
        """Yields the part and the rows of each batch of a spilled table; consecutive kept parts are read together,
        under the number of the last. of_kept: the connections whose rows of kept parts are read; None for all."""
        for is_kept, parts in groupby(self.parts, self.is_kept.__contains__):
            for together in [list(parts)] if is_kept else [[part] for part in parts]:
                wanted = of_kept if is_kept else None
                read = self._read(name, together) if wanted is None else self._read_of(name, together, wanted)
                for batch in joined_batches(read):
                    yield together[-1], batch
                    stay_below(self._bucket.limits.kept_bytes)

    def batches_of(self, name: str, parts: Iterable[int]) -> Iterator[tuple[int, pa.Table]]:
        """Yields the part and the rows of each batch of a spilled table, of these parts, one after the other."""
        for part in parts:
            for batch in joined_batches(self._read(name, [part])):
                yield part, batch
                stay_below(self._bucket.limits.kept_bytes)

    def _read(self, name: str, parts: Sequence[int]) -> Iterator[pa.Table]:
        for part in parts:
            yield from spilled_batches(self._bucket.spill, name, part=part)

    def _read_of(self, name: str, parts: Sequence[int], wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
        """Yields the rows of the wanted connections. Does not read parts in which the table has no row of them."""
        for part in parts if wanted.any() else ():
            named = (rows["conn"].filter(pc.equal(rows["table"], name)) for rows in self._read(NAMED, [part]))
            if any(wanted[conn.to_numpy()].any() for conn in named):
                for rows in self._read(name, [part]):
                    mine = rows.filter(pa.array(wanted[rows["conn"].to_numpy()]))
                    if mine.num_rows:
                        yield mine

    def write(self, part: int, rows: pa.Table) -> None:
        """Takes rows of a part in the table's schema; rows of kept parts are written already."""
        if part not in self.is_kept:
            (self._open if part == END else self._settled).write(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in (self._settled, self._open):
            writer.__exit__(kind, error, trace)


def _key(bucket: Bucket, part: int, digest: str) -> str:
    return f"{bucket.name}.{part}.{digest}"


def _digest(bucket: Bucket, table: Table, spilled: Sequence[str], part: int, facts: RowFacts) -> str:
    """Returns a digest of the facts about the connections and topics that a part names, and about the responses to its
    requests."""
    digest = hashlib.blake2b(facts.names.cluster.encode(), digest_size=_DIGEST_BYTES)
    found = (
        rows.filter(pc.is_in(rows["table"], pa.array(spilled))) for rows in read_spill(bucket.spill, NAMED, part=part)
    )
    named = pa.concat_tables([_NOTHING_NAMED, *(rows.select(_NOTHING_NAMED.column_names) for rows in found)])
    digest.update(_connection_bytes(facts.names, table, pc.unique(named["conn"]).sort().to_numpy()))
    if "topic" in table.schema.names:
        digest.update(_topic_bytes(facts.names.topics, set(pc.unique(named["topic_id"]).to_pylist())))
    if table is REQUESTS and facts.uncovered:
        for name in spilled:
            for batch in read_spill(bucket.spill, name, ["conn", "status", "request_last_ns"], part):
                digest.update(facts.with_answers(batch)["status"].to_numpy().tobytes())
    return digest.hexdigest()


def _connection_bytes(names: Names, table: Table, conn: NDArray[np.int64]) -> bytes:
    """Returns the columns of those connections that the rows of a table may have, as bytes."""
    chosen = [name for name in names.conn.column_names if name in table.schema.names or name == "client_side"]
    rows = names.conn.select(chosen).take(pa.array(conn)).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _topic_bytes(topics: TopicNames, topic_ids: set[str | None]) -> bytes:
    """Returns the names of those topics as bytes."""
    ids = pa.array(sorted(each for each in topic_ids if each), pa.string())
    return repr((ids.to_pylist(), topics.by_id(ids).to_pylist())).encode()
