"""What a scan keeps apart, while it spills rows, for the connections of other buckets.

These are small tables, spilled under names of their own (`facts.*`), which the main process reads (shared_facts). A
picker gets one spilled batch and returns the few rows of it that others need. It is called for every batch, so it has
to be cheap where there is nothing to pick.
"""

from collections.abc import Callable, Mapping

import pyarrow as pa

from kafkascope_analyzer.resolve.failed_requests import FAILED_REQUESTS, pick_failed_requests
from kafkascope_analyzer.resolve.group_lag import ACCEPTED_COMMITS, pick_accepted_commits

Picker = Callable[[pa.Table], pa.Table | None]
PartitionPicker = Callable[[pa.Table, int, str], pa.Table | None]
"""Takes partition rows, the API key and the direction."""

REQUEST_PICKERS: Mapping[str, Picker] = {
    FAILED_REQUESTS: pick_failed_requests,
    ACCEPTED_COMMITS: pick_accepted_commits,
}
"""Name of the spilled table -> what picks its rows from settled requests (ingest.exchanges.SETTLED_SCHEMA)."""
ERROR_PICKERS: Mapping[str, Picker] = {}
"""The same for spilled rows of `errors`."""
PARTITION_PICKERS: Mapping[str, PartitionPicker] = {}
"""The same for spilled rows of `partitions` of one message."""
