"""Kafka's API keys by name, and the sets of them that several packages need.

The purpose of each API is defined in the catalogue (schema.catalogue); a set that only one module needs is defined
there.
"""

from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_parsers.schema import api_catalogue, keys_of_families

PRODUCE, FETCH, LIST_OFFSETS, METADATA, CONTROLLED_SHUTDOWN = 0, 1, 2, 3, 7
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 8, 9, 10, 11, 12, 13, 14
SASL_HANDSHAKE, API_VERSIONS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 17, 18, 22, 23
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, WRITE_TXN_MARKERS, TXN_OFFSET_COMMIT = 24, 25, 26, 27, 28
OFFSET_DELETE = 47
SASL_AUTHENTICATE, CONSUMER_GROUP_HEARTBEAT, GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY = 36, 68, 71, 72
SHARE_GROUP_HEARTBEAT, SHARE_FETCH, SHARE_ACKNOWLEDGE, STREAMS_GROUP_HEARTBEAT = 76, 78, 79, 88

GROUP_HEARTBEATS = frozenset(key for one in PROTOCOLS if not one.members_assign for key in one.keys)
"""The heartbeats of groups whose coordinator assigns (KIP-848, KIP-932, KIP-1071)."""
GROUP_APIS = frozenset({OFFSET_COMMIT, OFFSET_FETCH}).union(*(protocol.keys for protocol in PROTOCOLS))
"""APIs that a member sends to its group's coordinator."""
COMMIT_APIS = frozenset({OFFSET_COMMIT, TXN_OFFSET_COMMIT})
"""APIs that commit offsets of a group."""
TXN_APIS = frozenset({INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN})
"""APIs that a producer sends to its transaction coordinator."""
SASL_APIS = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})
TELEMETRY_APIS = frozenset({GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY})
HANDSHAKE_APIS = keys_of_families({"connection"})
BROKER_APIS = frozenset(key for key, api in api_catalogue().items() if api.sender == "broker")
"""APIs that only brokers and controllers send."""
_DECIDED = ("Create", "Delete", "Alter", "IncrementalAlter", "Update", "Unregister", "Elect")
_OF_OTHERS = frozenset({"DeleteGroups", "AlterReplicaLogDirs", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"})
CONTROLLER_APIS = frozenset(
    key
    for key, api in api_catalogue().items()
    if api.family == "admin" and api.name.startswith(_DECIDED) and api.name not in _OF_OTHERS
)
"""APIs that the active controller handles: brokers forward such requests of clients to it."""
STEADY_APIS = frozenset(key for key, api in api_catalogue().items() if api.is_steady)
"""APIs that healthy clients, brokers and controllers repeat as long as they run: of successful requests, only those
that change something become events."""

FIRST_RESERVED_CORRELATION_ID = 0x7FFFFFF8
"""First correlation id of the Java client's SASL requests, which have a separate range (KAFKA-9854)."""
