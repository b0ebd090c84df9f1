"""`Bucket`: where a bucket's spill lies, and where its tables are written."""

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
from kafkascope_analyzer.resolve.cluster.split_spill import cluster_spill
from kafkascope_analyzer.resolve.tables.finished_files import EarlierFiles, FinishedMessages

_SORT = {
    REQUESTS.name: ("client_ip", "client_id", "ts_ns", "request_packet_no"),
    TOPOLOGY.name: ("ts_ns",),
    TCP_EVENTS.name: ("ts_ns",),
    DNS.name: ("ts_ns",),
}
"""The order of the rows of a row group; of other tables, that in which they are made."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where a bucket's spill lies, where its dataset is written, its files' place below a table's directory, what may
    be held at a time, and the files of earlier runs; None where the run is none to which captures are appended.
    """

    spill: Path
    dataset: Path
    part: str
    limits: Limits = field(default_factory=Limits)
    earlier: EarlierFiles | None = None
    whole: "Bucket | None" = None
    """The bucket that this one is a part of, where it is divided by cluster."""

    @property
    def name(self) -> str:
        """The name of the bucket, the same in each run."""
        return self.spill.name if self.whole is None else self.whole.name

    def writer(self, table: Table, part: str, made_of: Sequence[str] = ()) -> TableWriter:
        """Writes rows of a table. part: as of TablePlace; made_of: as of DatasetFile."""
        place, sort_by = TablePlace(self.dataset / table.name, part), _SORT.get(table.name, ())
        return TableWriter(place, table.described_schema, sort_by=sort_by, group=self.limits.row_group, made_of=made_of)

    def event_writers(self) -> WriterSet[str]:
        """Writes rows of `events`, by kind."""
        return WriterSet(self._event_writer, self.limits.pending_bytes)

    def _event_writer(self, kind: str, _: pa.Schema) -> TableWriter:
        place = TablePlace(self.dataset / EVENTS.name, f"{KIND_FOLDER}{kind}/{self.part}")
        return TableWriter(place, file_schema(kind), sort_by=ORDER_IN_FILE, group=self.limits.row_group)

    def messages(self, conn_ids: pa.ChunkedArray) -> FinishedMessages:
        """The messages of the bucket. conn_ids: of its connections."""
        if self.whole is None:
            return FinishedMessages(self.dataset, self.part, self.earlier)
        return FinishedMessages(self.dataset, self.whole.part, self.earlier, conn_ids)

    def of_cluster(self, number: int) -> "Bucket":
        """The part of the bucket that is of the cluster of that number."""
        return replace(
            self,
            spill=cluster_spill(self.spill, number),
            part=self.part.replace("part-", f"part-c{number}-", 1),
            whole=self,
        )

    def of_series(self, n_series: int) -> "list[Bucket]":
        """The bucket of each series of files: this one for the first, one beside it for each further one."""
        return [self, *(self._beside(number) for number in range(1, n_series))]

    def _beside(self, number: int) -> "Bucket":
        spill, part = self.spill.with_name(f"{self.spill.name}-{number}"), self.part.replace("part-0", f"part-{number}")
        return replace(self, spill=spill, part=part)
