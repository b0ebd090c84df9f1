"""The state machine over topic-partitions: slices of connections in, rows of `partition_flow` out.

Rows come sorted by topic-partition and time (client_stage.SHARED_ORDER). Memory is that of one topic-partition: how far
each of its readers is, and the slice that is being added up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.stories.partition_flow import PartitionFlow
from kafkascope_spark.stories.flow.slices import Place, Produced, Read, Reader, flow_row, highest, unread_row
from kafkascope_spark.stories.model import Row

FLOW = "flow"
"""Key kind of the events."""
PRODUCE_SLICE, COMMIT_SLICE = "produce_slice", "commit_slice"


def reader_of(row: Row) -> Reader:
    """Who reads on the connection of a row: its group if there is one, else its client."""
    return Reader(row["group_id"], None) if row["group_id"] is not None else Reader(None, row["client_instance_id"])


class Partitions:
    """Follows topic-partitions one after the other."""

    def __init__(self) -> None:
        self._key: str | None = None
        self._partition = Partition()

    def feed(self, rows: Iterable[Row]) -> Iterator[PartitionFlow]:
        """Rows of `partition_flow` of the slices that end. Rows are sorted (client_stage.SHARED_ORDER)."""
        for row in rows:
            if self._key != row["key"]:
                yield from self.finish()
                self._key = row["key"]
            yield from self._partition.take(row)

    def finish(self) -> Iterator[PartitionFlow]:
        """Rows of the last slice of the last topic-partition."""
        yield from self._partition.finish()
        self._partition = Partition()


@dataclass(slots=True)
class Partition:
    """A topic-partition. place: with the slice that is added up; end_offset: of what was there by its end."""

    place: Place | None = None
    end_offset: int | None = None
    produced: Produced = field(default_factory=Produced)
    readers: dict[Reader, Read] = field(default_factory=dict)

    def take(self, row: Row) -> Iterator[PartitionFlow]:
        """Rows of the slice that the next row ends."""
        body = row[row["kind"]]
        if self.place is None or self.place.ts_ns != row["ts_ns"]:
            yield from self._end_slice()
            self.place = Place(body["topic"], body["partition"], row["ts_ns"], body["slice_ms"])
        self._add(row)

    def finish(self) -> Iterator[PartitionFlow]:
        """Rows of the last slice."""
        yield from self._end_slice()

    def _add(self, row: Row) -> None:
        body = row[row["kind"]]
        if row["kind"] == COMMIT_SLICE:
            self.readers.setdefault(Reader(body["group_id"], None), Read()).commit(body)
            return
        self.end_offset = highest(self.end_offset, body["end_offset"])
        if row["kind"] == PRODUCE_SLICE:
            self.produced.add(body)
        else:
            self.readers.setdefault(reader_of(row), Read()).add(body)

    def _end_slice(self) -> Iterator[PartitionFlow]:
        """Rows of the slice: one for each reader so far for whom something was there."""
        if self.place is None:
            return
        accepted = self.produced.accepted()
        for reader, read in sorted(self.readers.items(), key=_by_name):
            read.end_slice(self.end_offset)
            if accepted.n_records or read.has_news:
                yield flow_row(self.place, accepted, reader, read, self.end_offset)
        if accepted.n_records and not self.readers:
            yield unread_row(self.place, accepted, self.end_offset)
        self.produced = Produced()
        for read in self.readers.values():
            read.begin_slice()


def _by_name(item: tuple[Reader, Read]) -> tuple[str, str]:
    return item[0].group_id or "", item[0].client_instance_id or ""
