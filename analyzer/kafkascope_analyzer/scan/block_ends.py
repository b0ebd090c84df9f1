"""The number of spilled rows about records of producers and consumers at the end of each block of the capture."""

import pyarrow as pa

from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_parsers.api_keys import FETCH

BLOCK_ENDS = "facts.block_ends"
"""Spilled table: the number of rows of the tables SERVED that had been spilled at the end of each block of
the capture."""
FETCHED = spill_name(FETCH, "response")
SERVED = (BATCHES, FETCHED)


def block_end(n_rows: dict[str, int]) -> pa.Table:
    """Returns a row of BLOCK_ENDS. n_rows: the number of rows of each table that were spilled so far."""
    return pa.table({name: pa.array([n_rows.get(name, 0)], pa.int64()) for name in SERVED})
