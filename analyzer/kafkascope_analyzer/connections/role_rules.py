"""Which API asks a connection for which role, and which answers deny it. Source: Kafka's clients and brokers
(NetworkClient, KafkaApis).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Subject = Literal["partition", "group", "transactional_id", "none"]


@dataclass(frozen=True, slots=True)
class RoleRule:
    """A role, the APIs that ask for it, what it is for, and the errors of an answer that deny it."""

    role: str
    subject: Subject
    apis: frozenset[str]
    refused_by: frozenset[str] = frozenset()
    since: Mapping[str, int] = field(default_factory=dict)
    """Versions of an API before this one do not ask for the role."""


_NOT_LEADER = frozenset(
    {
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_TOPIC_ID",
    }
)
_NOT_COORDINATOR = frozenset({"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"})
"""COORDINATOR_LOAD_IN_PROGRESS does not deny it: the broker is the coordinator, and not ready yet."""

PARTITION_LEADER = RoleRule(
    "partition_leader",
    "partition",
    frozenset(
        {"Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords", "ShareFetch", "ShareAcknowledge"}
    ),
    _NOT_LEADER,
)
GROUP_COORDINATOR = RoleRule(
    "group_coordinator",
    "group",
    frozenset(
        {
            "JoinGroup",
            "SyncGroup",
            "Heartbeat",
            "LeaveGroup",
            "OffsetCommit",
            "OffsetFetch",
            "TxnOffsetCommit",
            "ConsumerGroupHeartbeat",
            "ShareGroupHeartbeat",
            "StreamsGroupHeartbeat",
            "OffsetDelete",
            "DescribeGroups",
            "DeleteGroups",
            "ConsumerGroupDescribe",
            "ShareGroupDescribe",
            "StreamsGroupDescribe",
            "DescribeShareGroupOffsets",
            "AlterShareGroupOffsets",
            "DeleteShareGroupOffsets",
        }
    ),
    _NOT_COORDINATOR,
    since={"OffsetCommit": 1, "OffsetFetch": 1},
)
"""OffsetCommit and OffsetFetch v0 keep offsets in ZooKeeper, which every broker does."""
TRANSACTION_COORDINATOR = RoleRule(
    "transaction_coordinator",
    "transactional_id",
    frozenset({"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "DescribeTransactions"}),
    _NOT_COORDINATOR,
)
SHARE_COORDINATOR = RoleRule(
    "share_coordinator",
    "group",
    frozenset(
        {
            "InitializeShareGroupState",
            "ReadShareGroupState",
            "WriteShareGroupState",
            "DeleteShareGroupState",
            "ReadShareGroupStateSummary",
        }
    ),
    frozenset({"NOT_COORDINATOR"}),
)
CONTROLLER = RoleRule(
    "controller",
    "none",
    frozenset(
        {
            "BrokerRegistration",
            "BrokerHeartbeat",
            "AlterPartition",
            "AllocateProducerIds",
            "ControllerRegistration",
            "Vote",
            "BeginQuorumEpoch",
            "EndQuorumEpoch",
            "FetchSnapshot",
            "UpdateRaftVoter",
            "AssignReplicasToDirs",
            "ControlledShutdown",
        }
    ),
    frozenset({"NOT_CONTROLLER"}),
)
INTER_BROKER = RoleRule(
    "inter_broker",
    "none",
    frozenset(
        {"WriteTxnMarkers", "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "Envelope"}
        | SHARE_COORDINATOR.apis
    ),
)
ADMIN = RoleRule(
    "admin",
    "none",
    frozenset(
        {
            "CreateTopics",
            "DeleteTopics",
            "CreatePartitions",
            "DescribeConfigs",
            "AlterConfigs",
            "IncrementalAlterConfigs",
            "DescribeAcls",
            "CreateAcls",
            "DeleteAcls",
            "DescribeClientQuotas",
            "AlterClientQuotas",
            "DescribeUserScramCredentials",
            "AlterUserScramCredentials",
            "CreateDelegationToken",
            "RenewDelegationToken",
            "ExpireDelegationToken",
            "DescribeDelegationToken",
            "ElectLeaders",
            "AlterPartitionReassignments",
            "ListPartitionReassignments",
            "AlterReplicaLogDirs",
            "DescribeLogDirs",
            "DescribeGroups",
            "ListGroups",
            "DeleteGroups",
            "ConsumerGroupDescribe",
            "ShareGroupDescribe",
            "StreamsGroupDescribe",
            "DescribeProducers",
            "DescribeTransactions",
            "ListTransactions",
            "DescribeQuorum",
            "UpdateFeatures",
            "UnregisterBroker",
            "AddRaftVoter",
            "RemoveRaftVoter",
            "ListConfigResources",
            "DescribeShareGroupOffsets",
            "AlterShareGroupOffsets",
            "DeleteShareGroupOffsets",
            "DescribeTopicPartitions",
            "OffsetDelete",
        }
    ),
)
TELEMETRY = RoleRule("telemetry", "none", frozenset({"GetTelemetrySubscriptions", "PushTelemetry"}))

FOLLOWER_FETCH = RoleRule("follower_fetch", "partition", frozenset({"Fetch"}), PARTITION_LEADER.refused_by)
"""A consumer's Fetch that a replica answers although another node leads (KIP-392): confirmed where a broker had sent
the consumer there, else claimed.
"""

REQUEST_RULES = (
    GROUP_COORDINATOR,
    TRANSACTION_COORDINATOR,
    SHARE_COORDINATOR,
    CONTROLLER,
    INTER_BROKER,
    ADMIN,
    TELEMETRY,
)
"""Rules that the request row alone decides; partition_leader needs the partitions, bootstrap the client's whole
history.
"""
BOOTSTRAP_APIS = frozenset({"Metadata", "FindCoordinator", "DescribeCluster"})
HANDSHAKE_APIS = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})

_BROKER_CLIENT_ID = re.compile(
    r"broker-(?P<fetcher>\d+)-(?:fetcher-\d+|txn-marker-sender)"
    r"|(?:AddPartitionsManager|Persister|NetworkPartitionMetadataClient|ShareGroupDLQManager)-client-(?P<manager>\d+)"
    r"|raft-client-(?P<raft>\d+)"
)
"""Client ids that brokers give their own clients (ReplicaFetcherManager, NetworkUtils, KafkaRaftManager)."""
BETWEEN_BROKERS = {"AddPartitionsToTxn": 4}
"""APIs that only brokers send from this version on: the verification of KIP-890."""


def broker_of(client_id: str | None) -> int | None:
    """The node that gives its own clients this client id; None for other ids. (A bare number may be anybody's.)"""
    match = _BROKER_CLIENT_ID.fullmatch(client_id) if client_id is not None else None
    return next(int(node_id) for node_id in match.groups() if node_id is not None) if match else None


def is_broker(client_id: str | None) -> bool:
    """Whether a client id is one that brokers give their own clients."""
    return broker_of(client_id) is not None
