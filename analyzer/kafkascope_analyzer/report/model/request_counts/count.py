"""`Count`: what a section of the report counts in the requests."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

SLOT = "slot"
"""Name of the key with the number of a slot (Slots.counted_sql)."""


@dataclass(frozen=True, eq=False, slots=True)
class Count:
    """Numbers of requests by keys."""

    query: str
    """SQL that selects the keys and the numbers of the requests in {requests}; {slot}: the number of the slot in which
    a request was sent."""
    keys: Mapping[str, pa.DataType]
    """Keys and their types."""
    numbers: Mapping[str, tuple[str, pa.DataType]]
    """Numbers, each with the function that adds it up over files (sum, min or max), and its type."""
    of_clients: bool = False
    """Whether the query leaves out the connections of brokers (latency.OF_CLIENTS_SQL)."""

    @property
    def schema(self) -> pa.Schema:
        """Columns of the result: keys, then numbers."""
        return pa.schema([*self.keys.items(), *((name, kind) for name, (_, kind) in self.numbers.items())])

    @property
    def name(self) -> str:
        """A name that changes with the query."""
        return hashlib.sha256(self.query.encode()).hexdigest()[:16]

    def added(self, rows: str) -> str:
        """Returns SQL for the count of all files. rows: name of the table with the counts of each."""
        types = {"int64": "bigint", "string": "varchar"}
        numbers = (f"{each}({name})::{types[str(kind)]} as {name}" for name, (each, kind) in self.numbers.items())
        return f"(select {', '.join([*self.keys, *numbers])} from {rows} group by {', '.join(self.keys)})"
