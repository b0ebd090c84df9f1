"""The groups of APIs that the report shows together, each with its colour and pattern: what a request is for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiFamily:
    """APIs that serve one purpose. `name` is also that of its colour in the style sheet of the HTML page, `pattern` how
    its area is filled, so that the colour is not needed alone.
    """

    name: str
    title: str
    short: str
    pattern: str
    apis: frozenset[str]


_DATA = "Produce Fetch ListOffsets OffsetForLeaderEpoch DeleteRecords ShareFetch ShareAcknowledge"
_DISCOVERY = "Metadata FindCoordinator DescribeCluster"
_GROUP = "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch ConsumerGroupHeartbeat ShareGroupHeartbeat"
_GROUP += " StreamsGroupHeartbeat"
_TRANSACTION = "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn TxnOffsetCommit"
_BROKER = "BrokerHeartbeat BrokerRegistration ControllerRegistration AlterPartition AllocateProducerIds Envelope Vote"
_BROKER += " BeginQuorumEpoch EndQuorumEpoch FetchSnapshot UpdateRaftVoter WriteTxnMarkers LeaderAndIsr StopReplica"
_BROKER += " UpdateMetadata ControlledShutdown AssignReplicasToDirs InitializeShareGroupState ReadShareGroupState"
_BROKER += " WriteShareGroupState"


def _family(name: str, title: str, short: str, pattern: str, apis: str = "") -> ApiFamily:
    return ApiFamily(name, title, short, pattern, frozenset(apis.split()))


FAMILIES = (
    _family("data", "records: Produce, Fetch", "records", "solid", _DATA),
    _family(
        "find",
        "discovery: Metadata, FindCoordinator",
        "discovery",
        "rising",
        "Metadata FindCoordinator DescribeCluster",
    ),
    _family("hello", "greeting: ApiVersions, SASL", "greeting", "dots", "ApiVersions SaslHandshake SaslAuthenticate"),
    _family("group", "group: join, sync, heartbeat, offsets", "group", "upright", _GROUP),
    _family("txn", "transaction", "transaction", "cross", _TRANSACTION),
    _family("broker", "brokers among themselves", "brokers", "level", _BROKER),
    _family("admin", "administration, telemetry, other", "other", "falling"),
)
"""All families; the last has every API that no other names."""
ROLE_FAMILIES = {
    "bootstrap": "find",
    "partition_leader": "data",
    "follower_fetch": "data",
    "group_coordinator": "group",
    "share_coordinator": "group",
    "transaction_coordinator": "txn",
    "controller": "broker",
    "inter_broker": "broker",
    "admin": "admin",
    "telemetry": "admin",
}
"""The family whose colour a role has."""
_NUMBERS = {api: number for number, family in enumerate(FAMILIES) for api in family.apis}
OTHER = len(FAMILIES) - 1


def family_number(api_name: str | None) -> int:
    """The place of an API's family in FAMILIES."""
    return _NUMBERS.get(api_name or "", OTHER)


def role_family_number(role: str | None) -> int:
    """The place in FAMILIES of the family whose colour a role has."""
    name = ROLE_FAMILIES.get(role or "", FAMILIES[OTHER].name)
    return next(number for number, family in enumerate(FAMILIES) if family.name == name)
