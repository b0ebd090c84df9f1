"""What the second pass over a bucket needs to know of the connections of all buckets, beside `Cluster`.

The main process gathers it from the spills of all buckets, once; every second pass gets the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.learn import Cluster
from kafkascope_analyzer.resolve.group_lag import gather_lag_points


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """Facts about all connections of the capture.

    lag_points: the last offset that each generation of a group committed for each topic-partition (LAG_POINTS)."""

    lag_points: pa.Table


def gather_shared_facts(spills: Sequence[Path], cluster: Cluster) -> SharedFacts:
    """Reads what the buckets spilled. cluster: gives topics their names."""
    return SharedFacts(lag_points=gather_lag_points(spills, cluster.topics))
