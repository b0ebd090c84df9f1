"""Picks the connections that brokers and controllers opened, during the scan.

A broker is a client of other nodes. The requests that it sends show that its process runs. Other clients may share its
address, so a connection counts only if it carried requests that only brokers send.
"""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_parsers.schema import api_keys, api_name

BROKER_CLIENTS = "facts.broker_clients"
"""Spilled table: conn, the number of each such connection, possibly several times."""
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
    """Returns the connections of completed requests (scan.exchanges.SETTLED_SCHEMA) that only a broker sends."""
    chosen = _BROKER_APIS.has(int_column(settled, "api_key", -1)) | (int_column(settled, "replica_id", -1) >= 0)
    if not chosen.any():
        return None
    return pa.table({"conn": np.unique(int_column(settled, "conn", 0)[chosen])})
