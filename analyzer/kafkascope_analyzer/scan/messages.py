"""Writes `messages/<Api>/request|response`: Kafka's own fields, one row a decoded message."""

from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.dataset.tables import MESSAGE_KEYS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import to_arrow
from kafkascope_parsers.schema import Direction, api_name

KEY_SCHEMA = pa.schema([c.field for c in MESSAGE_KEYS])


class MessageWriters:
    """A table per API and direction, which begins with its first message. `part` is as of TablePlace. All together
    gather at most limits.pending_bytes: then the largest is written.
    """

    def __init__(self, root: Path, part: str, limits: Limits) -> None:
        self._root, self._part, self._limits = root, part, limits
        self._writers: dict[tuple[str, Direction], TableWriter] = {}

    def write(self, columns: Columns, keys: dict[str, pa.Array]) -> None:
        """Writes decoded messages. keys: request_id, conn_id (strings) and ts_ns per decoded row."""
        api_key, direction = columns.message.api_key, columns.message.direction
        if api_key is None or direction is None or not len(columns):
            return
        body = to_arrow(columns)
        ts_ns = keys["ts_ns"]
        heads = [keys["request_id"], keys["conn_id"], microseconds(ts_ns), ts_ns, pa.array(columns.version_used)]
        schema = pa.schema([*KEY_SCHEMA, *body.schema])
        table = pa.Table.from_arrays([*heads, *body.columns], schema=schema)
        place = (api_name(api_key), direction)
        if place not in self._writers:
            files = TablePlace(self._root / place[0] / direction, self._part)
            self._writers[place] = TableWriter(files, schema, group=self._limits.row_group)
        self._writers[place].write(table)
        if sum(writer.pending_bytes for writer in self._writers.values()) > self._limits.pending_bytes:
            max(self._writers.values(), key=lambda writer: writer.pending_bytes).flush()

    def rows(self) -> dict[str, int]:
        """Rows taken so far per table, as messages/<Api>/<direction>."""
        return {f"messages/{api}/{direction}": writer.n_rows for (api, direction), writer in self._writers.items()}

    def close(self) -> None:
        """Ends all files."""
        for writer in self._writers.values():
            writer.close()
