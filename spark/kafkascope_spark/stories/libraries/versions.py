"""Versions of requests that brokers support and libraries send, in the columns that the profiles of libraries use.

Sources: the message schemas of Apache Kafka's releases (also in kafka-python, kafka/protocol/broker_version_data.py).
"""

from kafkascope_parsers import api_keys

APIS = (
    api_keys.PRODUCE,
    api_keys.FETCH,
    api_keys.LIST_OFFSETS,
    api_keys.METADATA,
    api_keys.OFFSET_COMMIT,
    api_keys.OFFSET_FETCH,
    api_keys.FIND_COORDINATOR,
    api_keys.JOIN_GROUP,
    api_keys.HEARTBEAT,
    api_keys.LEAVE_GROUP,
    api_keys.SYNC_GROUP,
    api_keys.INIT_PRODUCER_ID,
    api_keys.SASL_HANDSHAKE,
    api_keys.SASL_AUTHENTICATE,
)
"""The APIs whose versions are compared: the columns of RELEASES and of the profiles."""
_NONE = -1
RELEASES: tuple[tuple[int, ...], ...] = (
    (2, 2, 0, 1, 2, 1, 0, 0, 0, 0, 0, _NONE, 0, _NONE),  # 0.10.0
    (2, 3, 1, 2, 2, 1, 0, 1, 0, 0, 0, _NONE, 0, _NONE),  # 0.10.1
    (2, 3, 1, 2, 2, 2, 0, 1, 0, 0, 0, _NONE, 0, _NONE),  # 0.10.2
    (3, 5, 2, 4, 3, 3, 1, 2, 1, 1, 1, 0, 0, _NONE),  # 0.11
    (5, 6, 2, 5, 3, 3, 1, 2, 1, 1, 1, 0, 1, 0),  # 1.0
    (5, 7, 2, 5, 3, 3, 1, 2, 1, 1, 1, 0, 1, 0),  # 1.1
    (6, 8, 3, 6, 4, 4, 2, 3, 2, 2, 2, 1, 1, 0),  # 2.0
    (7, 10, 4, 7, 6, 5, 2, 3, 2, 2, 2, 1, 1, 0),  # 2.1
    (7, 10, 5, 7, 6, 5, 2, 4, 2, 2, 2, 1, 1, 1),  # 2.2
    (7, 11, 5, 8, 7, 5, 2, 5, 3, 2, 3, 1, 1, 1),  # 2.3
    (8, 11, 5, 9, 8, 6, 3, 6, 4, 4, 4, 2, 1, 1),  # 2.4
    (8, 11, 5, 9, 8, 7, 3, 7, 4, 4, 5, 3, 1, 2),  # 2.5
    (8, 12, 5, 9, 8, 7, 3, 7, 4, 4, 5, 4, 1, 2),  # 2.7
    (9, 12, 6, 11, 8, 7, 3, 7, 4, 4, 5, 4, 1, 2),  # 2.8
    (9, 12, 7, 11, 8, 8, 4, 7, 4, 4, 5, 4, 1, 2),  # 3.0
    (9, 13, 7, 12, 8, 8, 4, 7, 4, 4, 5, 4, 1, 2),  # 3.1
    (9, 13, 7, 12, 8, 8, 4, 9, 4, 5, 5, 4, 1, 2),  # 3.2
    (9, 15, 8, 12, 8, 8, 4, 9, 4, 5, 5, 4, 1, 2),  # 3.5
    (10, 16, 8, 12, 9, 9, 4, 9, 4, 5, 5, 4, 1, 2),  # 3.7
    (11, 16, 8, 12, 9, 9, 5, 9, 4, 5, 5, 5, 1, 2),  # 3.8
    (11, 17, 9, 12, 9, 9, 6, 9, 4, 5, 5, 5, 1, 2),  # 3.9
    (12, 17, 10, 13, 9, 9, 6, 9, 4, 5, 5, 5, 1, 2),  # 4.0
    (13, 18, 10, 13, 9, 9, 6, 9, 4, 5, 5, 5, 1, 2),  # 4.1
    (13, 18, 11, 13, 10, 10, 6, 9, 4, 5, 5, 5, 1, 2),  # 4.2
)
"""Highest versions of APIS that the brokers of each release support; releases without a change are left out."""
FIRST_MODERN = 7
"""Index of 2.1 in RELEASES: the oldest protocol of current brokers and clients (KIP-896)."""


def up_to(*highest: int | None) -> dict[int, tuple[int, ...]]:
    """Returns the versions of APIS up to the highest ones. highest: None if it is not known, or the library lacks the
    API."""
    return {api: tuple(range(v + 1)) for api, v in zip(APIS, highest, strict=True) if v is not None}


def only(*sent: int | None) -> dict[int, tuple[int, ...]]:
    """Returns the single version of each of APIS that a library sends to all brokers."""
    return {api: (v,) for api, v in zip(APIS, sent, strict=True) if v is not None}


WITHOUT_TOPIC_IDS = {api_keys.OFFSET_COMMIT: 9, api_keys.OFFSET_FETCH: 9, api_keys.PRODUCE: 12, api_keys.FETCH: 12}
"""Highest versions with topic names: clients fall back to them for topics whose id they do not know (KIP-516)."""
