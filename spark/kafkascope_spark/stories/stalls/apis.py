"""The requests that clients wait for in a stall of each kind."""

from collections.abc import Mapping

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.stalls.table import StallKind

TRANSACTION = api_keys.TXN_APIS
METADATA = frozenset({api_keys.METADATA, api_keys.FIND_COORDINATOR})

ANSWERED_AT_ONCE: Mapping[StallKind, frozenset[int]] = {
    "produce": frozenset({api_keys.PRODUCE}),
    "commit": api_keys.COMMIT_APIS,
    "transaction": TRANSACTION,
    "metadata": METADATA,
    "admin": api_keys.CONTROLLER_APIS,
}
"""APIs that brokers answer without waiting. Not among them: Fetch, which waits for records, and JoinGroup and
SyncGroup, which wait for members."""
ANSWERED_BY_ONE_BROKER: Mapping[StallKind, frozenset[int]] = {
    **ANSWERED_AT_ONCE,
    "consume": frozenset({api_keys.FETCH, api_keys.SHARE_FETCH}),
}
"""APIs whose responses depend on no other client, including those that wait for records at the broker."""
