"""Decides what kind of client an instance is, from the APIs that its connections used."""

import re
from dataclasses import dataclass

from kafkascope_parsers import api_keys
from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_spark.stories.model import Connection

_BROKER_NAME = re.compile(
    r"(broker-\d+-(fetcher-\d+|txn-marker-sender)|raft-client-\d+|(AddPartitionsManager|Persister|NetworkPartitionMetadataClient|"
    r"ShareGroupDLQManager)-client-\d+)"
)
"""Client ids that brokers use (ReplicaFetcherManager, KafkaRaftManager, NetworkUtils)."""
_CONNECT_NAME = re.compile(r"connect-\S+:\d+|connector-(consumer|producer|adminclient)-.+")
_CONSUMER_APIS = {
    api_keys.JOIN_GROUP,
    api_keys.SYNC_GROUP,
    api_keys.HEARTBEAT,
    api_keys.CONSUMER_GROUP_HEARTBEAT,
    api_keys.FETCH,
}
_SHARE_APIS = {api_keys.SHARE_GROUP_HEARTBEAT, api_keys.SHARE_FETCH, api_keys.SHARE_ACKNOWLEDGE}
_PRODUCER_APIS = {api_keys.PRODUCE, api_keys.INIT_PRODUCER_ID}
_COMMON_APIS = api_keys.HANDSHAKE_APIS | api_keys.TELEMETRY_APIS | {api_keys.METADATA, api_keys.FIND_COORDINATOR}
"""APIs that every kind of client uses."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind, group protocol and transaction protocol of a client, with the values of the table `clients`."""

    kind: str
    group_protocol: str
    transactions: str
    claimed: bool = False
    """Whether it is guessed from the lengths of TLS records."""


def kind_of(connections: list[Connection]) -> Kind:
    """The kind of the client that has these connections."""
    apis: set[int] = set().union(*(c.apis for c in connections))
    name = next((c.client_id for c in connections if c.client_id), "") or ""
    transactional = any(c.transactional_ids for c in connections)
    v2 = any(c.txn_v2 for c in connections)
    transactions = ("v2" if v2 else "v1") if transactional else "none"
    kind = _kind(connections, apis, name, transactional)
    if kind == "unknown":
        kind = _kind_by_coordinator_type({t for c in connections for t, _ in c.sought})
    return Kind(kind, _group_protocol(apis), transactions, any(c.is_encrypted for c in connections))


def _kind_by_coordinator_type(sought: set[str]) -> str:
    """The kind of a client that got no further than FindCoordinator, from the type of the coordinator."""
    if "transaction" in sought:
        return "transactional_producer"
    return "consumer" if "group" in sought else "unknown"


def _kind(connections: list[Connection], apis: set[int], name: str, transactional: bool) -> str:
    own = apis - _COMMON_APIS
    if any(c.is_replica for c in connections) or _BROKER_NAME.fullmatch(name):
        return "broker"
    if name.isdigit() and own and own <= api_keys.BROKER_APIS:
        return "broker"
    if apis & api_keys.BROKER_APIS and not apis & (_CONSUMER_APIS | _PRODUCER_APIS | _SHARE_APIS):
        return "broker"
    if _CONNECT_NAME.fullmatch(name):
        return "connect"
    if api_keys.STREAMS_GROUP_HEARTBEAT in apis:
        return "streams"
    if apis & _SHARE_APIS:
        return "share_consumer"
    if transactional and not apis & {api_keys.FETCH, api_keys.JOIN_GROUP}:
        return "transactional_producer" if apis & (_PRODUCER_APIS | api_keys.TXN_APIS) else "admin"
    return _plain_kind(apis, own)


def _plain_kind(apis: set[int], own: set[int]) -> str:
    if api_keys.PRODUCE in apis:
        return "producer"
    if apis & _CONSUMER_APIS:
        return "consumer"
    if apis & _PRODUCER_APIS:
        return "producer"
    if own & {api_keys.OFFSET_COMMIT, api_keys.OFFSET_FETCH} and not own - api_keys.GROUP_APIS - {
        api_keys.LIST_OFFSETS
    }:
        return "consumer"
    return "admin" if own else "unknown"


def _group_protocol(apis: set[int]) -> str:
    """Returns the newest group protocol of its requests. LeaveGroup does not count, as admin clients send it, too."""
    of_members = apis - {api_keys.LEAVE_GROUP}
    return next((protocol.name for protocol in reversed(PROTOCOLS) if of_members & protocol.keys), "none")
