"""`Bucket`: the place of a bucket's spill, and of the tables that are written from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.dataset.tables import DNS, EVENTS, REQUESTS, TCP_EVENTS, TOPOLOGY
from kafkascope_analyzer.dataset.tables.events import KIND_FOLDER, ORDER_IN_FILE, file_schema
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.dataset.writer_set import WriterSet
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.resolve.cluster.split_spill import cluster_spill, group_spill
from kafkascope_analyzer.resolve.tables.finished_files import EarlierFiles, FinishedMessages

_SORT = {
    REQUESTS.name: ("client_ip", "client_id", "ts_ns", "request_packet_no"),
    TOPOLOGY.name: ("ts_ns",),
    TCP_EVENTS.name: ("ts_ns",),
    DNS.name: ("ts_ns",),
}
"""The sort order of the rows of a row group; rows of other tables stay in the order in which they are made."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The place of a bucket's spill and of its dataset, the path of its files below a table's directory, memory limits,
    and the files of earlier runs; None where no captures are appended.
    """

    spill: Path
    dataset: Path
    part: str
    limits: Limits = field(default_factory=Limits)
    earlier: EarlierFiles | None = None
    whole: "Bucket | None" = None
    """The bucket of which this one is a part, where it is divided by cluster or into groups of connections."""

    @property
    def undivided(self) -> "Bucket":
        """The bucket of which this one is a part, or a part of a part."""
        return self if self.whole is None else self.whole.undivided

    @property
    def name(self) -> str:
        """The name of the bucket, the same in each run."""
        return self.undivided.spill.name

    def writer(self, table: Table, part: str, made_of: Sequence[str] = ()) -> TableWriter:
        """Returns a writer for rows of a table. part: as in TablePlace; made_of: as in DatasetFile."""
        place, sort_by = TablePlace(self.dataset / table.name, part), _SORT.get(table.name, ())
        return TableWriter(place, table.described_schema, sort_by=sort_by, group=self.limits.row_group, made_of=made_of)

    def event_writers(self) -> WriterSet[str]:
        """Returns writers for rows of `events`, by kind."""
        return WriterSet(self._event_writer, self.limits.pending_bytes)

    def _event_writer(self, kind: str, _: pa.Schema) -> TableWriter:
        place = TablePlace(self.dataset / EVENTS.name, f"{KIND_FOLDER}{kind}/{self.part}")
        return TableWriter(place, file_schema(kind), sort_by=ORDER_IN_FILE, group=self.limits.row_group)

    def messages(self, conn_ids: pa.ChunkedArray) -> FinishedMessages:
        """Returns the messages of the bucket. conn_ids: ids of its connections."""
        if self.whole is None:
            return FinishedMessages(self.dataset, self.part, self.earlier)
        return FinishedMessages(self.dataset, self.undivided.part, self.earlier, conn_ids)

    def of_cluster(self, number: int) -> "Bucket":
        """Returns the part of the bucket that belongs to the cluster of that number."""
        return self._part(cluster_spill(self.spill, number), f"c{number}")

    def groups(self, n_groups: int) -> "list[Bucket]":
        """Returns the groups of connections into which the bucket is divided: itself where it is one group."""
        if n_groups == 1:
            return [self]
        return [self._part(group_spill(self.spill, number), f"g{number}") for number in range(n_groups)]

    def _part(self, spill: Path, name: str) -> "Bucket":
        return replace(self, spill=spill, part=self.part.replace("part-", f"part-{name}-", 1), whole=self)

    def of_series(self, n_series: int) -> "list[Bucket]":
        """Returns the bucket for each series of files: this one for the first, and one beside it for each
        further one."""
        return [self, *(self._beside(number) for number in range(1, n_series))]

    def _beside(self, number: int) -> "Bucket":
        spill, part = self.spill.with_name(f"{self.spill.name}-{number}"), self.part.replace("part-0", f"part-{number}")
        return replace(self, spill=spill, part=part)
