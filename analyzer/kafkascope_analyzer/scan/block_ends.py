"""How many rows about the records of producers and consumers were spilled at the end of each block of the capture."""

import pyarrow as pa

from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_parsers.api_keys import FETCH

BLOCK_ENDS = "facts.block_ends"
"""Spilled table: how many rows of SERVED had been spilled at the end of each block of the capture."""
FETCHED = spill_name(FETCH, "response")
SERVED = (BATCHES, FETCHED)


def block_end(n_rows: dict[str, int]) -> pa.Table:
    """A row of BLOCK_ENDS. n_rows: how many rows of each table were spilled so far."""
    return pa.table({name: pa.array([n_rows.get(name, 0)], pa.int64()) for name in SERVED})
