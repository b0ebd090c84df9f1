"""What the second pass over a bucket needs to know of the connections of all buckets, beside `Cluster`.

The main process gathers it from the spills of all buckets, once; every second pass gets the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.learn import Cluster
from kafkascope_analyzer.ingest.spill import read_spill
from kafkascope_analyzer.resolve.near_closes import CLOSE_COLUMNS, near_closes


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """Facts about all connections of the capture.

    near_closes: what happened at each server around the end of its connections (near_closes.near_closes).
    """

    near_closes: pa.Table


def gather_shared_facts(spills: Sequence[Path], cluster: Cluster) -> SharedFacts:
    """Reads what the buckets spilled. cluster: gives topics their names."""
    connections = (rows for spill in spills for rows in read_spill(spill, "connections", CLOSE_COLUMNS))
    return SharedFacts(near_closes(connections))
