"""Writes `messages/<Api>/request|response`: Kafka's own fields, one row a decoded message."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import MESSAGE_KEYS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import to_arrow
from kafkascope_parsers.schema import Direction

KEY_SCHEMA = pa.schema([c.field for c in MESSAGE_KEYS])


class MessageWriters:
    """One Parquet file per API and direction, opened with its first message. `part` is the file's place below the
    table's directory. All together gather at most limits.pending_bytes: then the largest is written.
    """

    def __init__(self, root: Path, part: str, limits: Limits) -> None:
        self._root, self._part, self._limits = root, part, limits
        self._writers: dict[tuple[str, Direction], TableWriter] = {}

    def write(self, api_name: str, columns: Columns, keys: dict[str, pa.Array | NDArray[np.int64]]) -> None:
        """Writes decoded messages. keys: request_id, conn_id (strings) and ts_ns per decoded row."""
        direction = columns.message.direction
        if direction is None or not len(columns):
            return
        body = to_arrow(columns)
        ts_ns = pa.array(keys["ts_ns"])
        heads = [keys["request_id"], keys["conn_id"], microseconds(ts_ns), ts_ns, pa.array(columns.version_used)]
        schema = pa.schema([*KEY_SCHEMA, *body.schema])
        table = pa.Table.from_arrays([*heads, *body.columns], schema=schema)
        place = (api_name, direction)
        if place not in self._writers:
            path = self._root / api_name / direction / self._part
            self._writers[place] = TableWriter(path, schema, group=self._limits.row_group)
        self._writers[place].write(table)
        if sum(writer.pending_bytes for writer in self._writers.values()) > self._limits.pending_bytes:
            max(self._writers.values(), key=lambda writer: writer.pending_bytes).flush()

    def rows(self) -> dict[str, int]:
        """Rows taken so far per table, as messages/<Api>/<direction>."""
        return {f"messages/{api}/{direction}": writer.n_taken for (api, direction), writer in self._writers.items()}

    def close(self) -> None:
        """Ends all files."""
        for writer in self._writers.values():
            writer.close()
