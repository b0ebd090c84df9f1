"""Writes `messages/<Api>/request|response`: Kafka's own fields, one row per decoded message."""

from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import sentences
from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.dataset.tables import MESSAGE_KEYS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.dataset.writer_set import WriterSet
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import to_arrow
from kafkascope_parsers.schema import Direction, api_name

KEY_SCHEMA = pa.schema([c.field for c in MESSAGE_KEYS])
_Place = tuple[str, Direction]


class MessageWriters:
    """A table per API and direction, which is created with its first message. `part` is as in TablePlace."""

    def __init__(self, root: Path, part: str, limits: Limits) -> None:
        self._root, self._part, self._group = root, part, limits.row_group
        self._writers: WriterSet[_Place] = WriterSet(self._begun, limits.pending_bytes)

    def _begun(self, place: _Place, schema: pa.Schema) -> TableWriter:
        api, direction = place
        described = schema.with_metadata(sentences(f"{api} {direction}, with Kafka's own fields", MESSAGE_KEYS))
        return TableWriter(TablePlace(self._root / api / direction, self._part), described, group=self._group)

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
        self._writers.write((api_name(api_key), direction), table)

    def rows(self) -> dict[str, int]:
        """Returns the number of rows taken so far by table, as messages/<Api>/<direction>."""
        return {f"messages/{api}/{direction}": n_rows for (api, direction), n_rows in self._writers.n_rows.items()}

    def close(self) -> None:
        """Ends all files."""
        self._writers.close()
