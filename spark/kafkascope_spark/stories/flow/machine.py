"""The state machine over topic-partitions: slices of connections in, rows of `partition_flow` out.

Rows come sorted by topic-partition and time (client_stage.SHARED_ORDER). Memory is that of one topic-partition: how far
each of its readers is, and the slice that is being added up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafkascope_spark.stories.flow.slices import Produced, Read, flow_row, highest, unread_row
from kafkascope_spark.stories.model import Row

FLOW = "flow"
"""Key kind of the events."""
PRODUCE_SLICE, COMMIT_SLICE = "produce_slice", "commit_slice"


@dataclass(frozen=True, slots=True, order=True)
class Reader:
    """Who reads a topic-partition: a group, or a consumer without one."""

    group_id: str | None
    client_instance_id: str | None


def reader_of(row: Row) -> Reader:
    """Who reads on the connection of a row: its group if there is one, else its client."""
    return Reader(row["group_id"], None) if row["group_id"] is not None else Reader(None, row["client_instance_id"])


class PartitionFlow:
    """Follows topic-partitions one after the other."""

    def __init__(self) -> None:
        self._partition: _Partition | None = None

    def feed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows of `partition_flow` of the slices that end. Rows are sorted (client_stage.SHARED_ORDER)."""
        for row in rows:
            partition = self._partition
            if partition is None or partition.key != row["key"]:
                yield from self.finish()
                self._partition = partition = _Partition(row["key"])
            if partition.ts_ns != row["ts_ns"]:
                yield from partition.end_slice()
                partition.ts_ns = row["ts_ns"]
            partition.take(row)

    def finish(self) -> Iterator[Row]:
        """Rows of the last slice of the last topic-partition."""
        if self._partition is not None:
            yield from self._partition.end_slice()
        self._partition = None


@dataclass(slots=True)
class _Partition:
    """A topic-partition. ts_ns: begin of the slice that is added up; end_offset: of what was there by its end."""

    key: str
    ts_ns: int | None = None
    place: Row = field(default_factory=dict)
    end_offset: int | None = None
    produced: Produced = field(default_factory=Produced)
    readers: dict[Reader, Read] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """The next row of the slice."""
        body = row[row["kind"]]
        self.place = {name: body[name] for name in ("topic", "partition", "slice_ms")}
        if row["kind"] == COMMIT_SLICE:
            self.readers.setdefault(Reader(body["group_id"], None), Read()).commit(body)
            return
        self.end_offset = highest(self.end_offset, body["end_offset"])
        if row["kind"] == PRODUCE_SLICE:
            self.produced.add(body)
        else:
            self.readers.setdefault(reader_of(row), Read()).add(body)

    def end_slice(self) -> Iterator[Row]:
        """Rows of the slice: one for each reader so far for whom something was there."""
        common = {**self.place, "ts_ns": self.ts_ns, "end_offset": self.end_offset, **self.produced.columns()}
        for reader, read in sorted(self.readers.items(), key=_by_name):
            read.end_slice(self.end_offset)
            if self.produced.n_records or read.has_news:
                names = {"group_id": reader.group_id, "client_instance_id": reader.client_instance_id}
                yield flow_row(common | names, read)
        if self.produced.n_records and not self.readers:
            yield unread_row(common)
        self.produced = Produced()
        for read in self.readers.values():
            read.begin_slice()


def _by_name(item: tuple[Reader, Read]) -> tuple[str, str]:
    return item[0].group_id or "", item[0].client_instance_id or ""
