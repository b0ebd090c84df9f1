"""Client ids of the clients inside brokers, and the broker of each."""

import re

from kafkascope_parsers.versions import MOST_INT32, parse_number

BROKER_CLIENT_ID = re.compile(
    r"broker-(?P<fetcher>[0-9]{1,10})-(?:fetcher-[0-9]+|txn-marker-sender)"
    r"|(?:AddPartitionsManager|Persister|NetworkPartitionMetadataClient|ShareGroupDLQManager)-client-(?P<manager>[0-9]{1,10})"
    r"|raft-client-(?P<raft>[0-9]{1,10})"
)
"""Pattern of the client ids of brokers' own clients (ReplicaFetcherManager, NetworkUtils, KafkaRaftManager)."""


def broker_of(client_id: str | None) -> int | None:
    """Returns the node whose own clients have this client id; None for other ids. (A bare number may be used by any
    client.)"""
    match = BROKER_CLIENT_ID.fullmatch(client_id) if client_id is not None else None
    named = next((node_id for node_id in match.groups() if node_id is not None), "") if match else ""
    return parse_number(named, MOST_INT32)


def is_broker(client_id: str | None) -> bool:
    """Whether a client id is one of brokers' own clients."""
    return broker_of(client_id) is not None
