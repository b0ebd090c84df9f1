"""The machine over a topic-partition: makes rows of `partition_flow` from the slices of connections, and, for the
incidents, rows of the records that groups fetched again.

Rows come sorted by time. Memory is the position of each reader, and the slice that is being summed up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.flow import CommitSlice, FlowEvent, ProduceSlice
from kafkascope_spark.stories.flow.slices import Place, Produced, Read, Reader, flow_row, highest, unread_row
from kafkascope_spark.stories.flow.table import PartitionFlow
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.keyed import Origin


@dataclass(slots=True)
class Partition:
    """A topic-partition. place: topic-partition and slice that is being summed up; end_offset: end of the partition by
    the end of the slice."""

    place: Place | None = None
    end_offset: int | None = None
    produced: Produced = field(default_factory=Produced)
    readers: dict[Reader, Read] = field(default_factory=dict)

    def take(self, event: FlowEvent, origin: Origin) -> Iterator[PartitionFlow | FetchedAgain]:
        """Takes the next event. Yields the rows of the slice that it ends."""
        if self.place is None or self.place.ts_ns != origin.ts_ns:
            yield from self.finish()
            self.place = Place(event.topic, event.partition, origin.ts_ns, event.slice_ms)
        if isinstance(event, CommitSlice):
            self._read(Reader(event.group_id, None)).commit(event)
            return
        self.end_offset = highest(self.end_offset, event.end_offset)
        if isinstance(event, ProduceSlice):
            self.produced.add(event)
        else:
            client = origin.client_instance_id if origin.group_id is None else None
            self._read(Reader(origin.group_id, client)).add(event)

    def _read(self, reader: Reader) -> Read:
        return self.readers.setdefault(reader, Read())

    def finish(self) -> Iterator[PartitionFlow | FetchedAgain]:
        """Yields the rows of the last slice: one for each reader with something to report."""
        if self.place is None:
            return
        accepted = self.produced.accepted()
        for reader, read in sorted(self.readers.items(), key=_by_name):
            read.end_slice(self.end_offset)
            if accepted.n_records or read.has_news:
                yield flow_row(self.place, accepted, reader, read, self.end_offset)
            if read.n_again:
                yield _fetched_again(self.place, reader, read.n_again)
        if accepted.n_records and not self.readers:
            yield unread_row(self.place, accepted, self.end_offset)
        self.produced = Produced()
        for read in self.readers.values():
            read.begin_slice()


def _fetched_again(place: Place, reader: Reader, n_records: int) -> FetchedAgain:
    to_ns = place.ts_ns + place.slice_ms * 1_000_000
    return FetchedAgain(
        place.topic, place.partition, reader.group_id, reader.client_instance_id, place.ts_ns, to_ns, n_records
    )


def _by_name(item: tuple[Reader, Read]) -> tuple[str, str]:
    return item[0].group_id or "", item[0].client_instance_id or ""
