"""Connections that brokers and controllers opened: what picks them during the scan.

A broker is a client of other nodes. What it sends as one shows that its process runs. Other clients may share its
address, so a connection counts where it carried what only brokers send.
"""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_parsers.schema import api_keys, api_name

BROKER_CLIENTS = "facts.broker_clients"
"""Spilled table: conn, the number of each such connection, once or more."""
_NAMES = frozenset(
    {
        "LeaderAndIsr",
        "StopReplica",
        "UpdateMetadata",
        "ControlledShutdown",
        "WriteTxnMarkers",
        "Vote",
        "BeginQuorumEpoch",
        "EndQuorumEpoch",
        "AlterPartition",
        "Envelope",
        "FetchSnapshot",
        "BrokerRegistration",
        "BrokerHeartbeat",
        "AllocateProducerIds",
        "ControllerRegistration",
        "AssignReplicasToDirs",
        "UpdateRaftVoter",
        "InitializeShareGroupState",
        "ReadShareGroupState",
        "WriteShareGroupState",
        "DeleteShareGroupState",
        "ReadShareGroupStateSummary",
    }
)
_BROKER_APIS = ApiSet({key for key in api_keys() if api_name(key) in _NAMES})


def pick_broker_clients(settled: pa.Table) -> pa.Table | None:
    """The connections of settled requests (scan.exchanges.SETTLED_SCHEMA) that only a broker sends."""
    chosen = _BROKER_APIS.has(int_column(settled, "api_key", -1)) | (int_column(settled, "replica_id", -1) >= 0)
    if not chosen.any():
        return None
    return pa.table({"conn": np.unique(int_column(settled, "conn", 0)[chosen])})
