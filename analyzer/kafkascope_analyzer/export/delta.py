"""Writes a folder of Delta Lake tables (extra `delta`)."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from kafkascope_analyzer.export.lake import PARTITIONS, SOURCE, SOURCES, LakeTable, quoted_list
from kafkascope_parsers.errors import UsageError


class DeltaLake:
    """The tables in a folder, or at a URI that Delta Lake supports. A `Lake`."""

    def __init__(self, place: str) -> None:
        self._place = place.rstrip("/")

    def captures(self) -> list[tuple[str, str]]:
        """Returns (source, capture) of all datasets in the lake."""
        found = self._opened(SOURCES)
        if found is None:
            return []
        rows = pa.table(found.to_pyarrow_table(columns=[SOURCE, "capture"]))
        return list(zip(rows[SOURCE].to_pylist(), rows["capture"].to_pylist(), strict=True))

    def _opened(self, name: str) -> DeltaTable | None:
        try:
            return DeltaTable(f"{self._place}/{name}")
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise UsageError(f"{self._place}/{name}: {error}") from error

    def write(self, table: LakeTable, replaced: Sequence[str]) -> None:
        """Replaces the rows of the replaced sources by new ones, in one commit; creates the table if there is none."""
        place = f"{self._place}/{table.name}"
        try:
            if self._opened(table.name) is None:
                schema = Schema.from_arrow(table.schema)
                DeltaTable.create(
                    place, schema, name=table.name, description=table.comment, partition_by=list(PARTITIONS)
                )
            batches = (batch for chunk in table.chunks() for batch in chunk.to_batches())
            rows = pa.RecordBatchReader.from_batches(table.schema, batches)
            only = f"{SOURCE} in ({quoted_list(replaced)})"
            write_deltalake(place, rows, mode="overwrite", predicate=only, schema_mode="merge")
        except (DeltaError, OSError) as error:
            raise UsageError(f"{place}: {error}") from error
