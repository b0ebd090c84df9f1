"""Small tables of spilled rows that the connections of other buckets need, picked during the scan.

They are spilled under names of their own (`facts.*`), and the main process reads them (resolve.shared_facts). A picker
gets one spilled batch and returns the few rows of it that others need. It is called for every batch, so it has to be
cheap where there is nothing to pick.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan import transaction_picks
from kafkascope_analyzer.scan.accepted_commits import ACCEPTED_COMMITS, pick_accepted_commits
from kafkascope_analyzer.scan.broker_clients import BROKER_CLIENTS, pick_broker_clients
from kafkascope_analyzer.scan.failed_requests import FAILED_REQUESTS, pick_failed_requests
from kafkascope_analyzer.scan.group_clients import (
    CONSUMERS,
    GROUP_CLIENTS,
    pick_consumers,
    pick_group_clients,
)
from kafkascope_analyzer.scan.late_responses import LATE_RESPONSES, pick_late_responses
from kafkascope_analyzer.scan.unanswered import UNANSWERED, pick_unanswered
from kafkascope_parsers.api_keys import ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS
from kafkascope_parsers.machine import Columns

Picker = Callable[[pa.Table], pa.Table | None]
PartitionPicker = Callable[[pa.Table, int, str], pa.Table | None]
"""Function of partition rows, the API key and the direction."""

MessagePicker = Callable[[Columns, NDArray[np.void]], pa.Table | None]
"""Function of decoded requests of one API and the frame of each."""

REQUEST_PICKERS: Mapping[str, Picker] = {
    FAILED_REQUESTS: pick_failed_requests,
    UNANSWERED: pick_unanswered,
    ACCEPTED_COMMITS: pick_accepted_commits,
    LATE_RESPONSES: pick_late_responses,
    BROKER_CLIENTS: pick_broker_clients,
    CONSUMERS: pick_consumers,
    GROUP_CLIENTS: pick_group_clients,
    transaction_picks.COORDINATOR_REQUESTS: transaction_picks.pick_coordinator_requests,
    transaction_picks.READERS: transaction_picks.pick_read_committed,
}
"""Name of the spilled table -> the picker of its rows from completed requests (scan.exchanges.SETTLED_SCHEMA)."""
ERROR_PICKERS: Mapping[str, Picker] = {}
"""Name of the spilled table -> the picker of its rows from spilled rows of `errors`."""
PARTITION_PICKERS: Mapping[str, PartitionPicker] = {transaction_picks.BLOCKED: transaction_picks.pick_blocked}
"""Name of the spilled table -> the picker of its rows from spilled rows of `partitions` of one message."""
MESSAGE_PICKERS: Mapping[int | None, tuple[str, MessagePicker]] = {
    ADD_PARTITIONS_TO_TXN: (transaction_picks.LEADERS_REQUESTS, transaction_picks.pick_leaders_requests),
    WRITE_TXN_MARKERS: (transaction_picks.MARKERS, transaction_picks.pick_markers),
}
"""API key -> name of the spilled table and the picker of its rows from decoded requests."""
