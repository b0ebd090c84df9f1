"""Rules for the roles of a connection: the APIs that are sent for each role, and the errors of a response that deny it.

The role to which an API is sent is defined in the catalogue (kafkascope_parsers.schema.catalogue). Source of the
errors: Kafka's clients and brokers (NetworkClient, KafkaApis).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kafkascope_parsers.schema import api_catalogue, apis_for_role

Subject = Literal["partition", "group", "transactional_id", "none"]


@dataclass(frozen=True, slots=True)
class RoleRule:
    """A role, its kind of subject, the APIs that are sent to it, and the errors of a response that deny it."""

    role: str
    subject: Subject
    apis: frozenset[str]
    refused_by: frozenset[str] = frozenset()
    since: Mapping[str, int] = field(default_factory=dict)
    """By API, the first version whose requests are sent to the role."""


_NOT_LEADER = frozenset(
    {
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_TOPIC_ID",
    }
)
_NOT_COORDINATOR = frozenset({"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"})
"""Errors that deny the role of coordinator. COORDINATOR_LOAD_IN_PROGRESS does not: the broker is the coordinator, but
not ready yet."""


def _rule(role: str, subject: Subject, refused_by: frozenset[str] = frozenset()) -> RoleRule:
    apis = apis_for_role(role)
    return RoleRule(role, subject, frozenset(apis), refused_by, {name: since for name, since in apis.items() if since})


PARTITION_LEADER = _rule("partition_leader", "partition", _NOT_LEADER)
GROUP_COORDINATOR = _rule("group_coordinator", "group", _NOT_COORDINATOR)
TRANSACTION_COORDINATOR = _rule("transaction_coordinator", "transactional_id", _NOT_COORDINATOR)
SHARE_COORDINATOR = _rule("share_coordinator", "group", frozenset({"NOT_COORDINATOR"}))
CONTROLLER = _rule("controller", "none", frozenset({"NOT_CONTROLLER"}))
INTER_BROKER = _rule("inter_broker", "none")
ADMIN = _rule("admin", "none")
TELEMETRY = _rule("telemetry", "none")

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
"""Rules that the request row alone decides. partition_leader needs the partitions, bootstrap the client's whole
history.
"""
BOOTSTRAP_APIS = frozenset(apis_for_role("bootstrap"))
HANDSHAKE_APIS = frozenset(api.name for api in api_catalogue().values() if api.family == "connection")

BETWEEN_BROKERS = {"AddPartitionsToTxn": 4}
"""APIs that only brokers send from this version on: the verification of KIP-890."""
