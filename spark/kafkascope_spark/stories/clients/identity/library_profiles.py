"""How client libraries behave on the wire, as data: by this a client is recognised that does not name its software.

A client sends the highest version of an API that both sides support. RELEASES has what brokers support; a profile has
what a library implements. Java clients implement what the brokers of their release support.

Sources: for RELEASES the message schemas of Apache Kafka's releases (also in kafka-python,
kafka/protocol/broker_version_data.py). For the profiles, each library's own code, compared with recordings of it:
kafkajs 2.2 (src/protocol/requests, src/network/connection.js, src/broker/index.js), aiokafka 0.8 and 0.14
(aiokafka/protocol, aiokafka/conn.py), kafka-python 2.0 and 3.0 (kafka/conn.py, kafka/protocol), sarama 1.29 and 1.61
(broker.go, *_request.go), librdkafka 1.0, 1.9 and 2.16 (rdkafka_broker.c, rdkafka_request.c), franz-go 1.22
(pkg/kgo/broker.go), kafka-go 0.4 of Segmentio (conn.go, protocol/*), the Java client's NetworkClient and
SaslClientAuthenticator.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkascope_parsers import api_keys

LIBRARIES = (
    "java",
    "librdkafka",
    "franz-go",
    "sarama",
    "kafkajs",
    "kafka-python",
    "aiokafka",
    "kafka-go",
    "unknown",
)
SOFTWARE_PREFIXES = (
    ("apache-kafka-java", "java"),
    ("librdkafka", "librdkafka"),
    ("confluent-kafka", "librdkafka"),
    ("kgo", "franz-go"),
    ("franz-go", "franz-go"),
    ("sarama", "sarama"),
    ("kafka-python", "kafka-python"),
    ("kafkajs", "kafkajs"),
    ("aiokafka", "aiokafka"),
    ("kafka-go", "kafka-go"),
)
"""How the software name of ApiVersions begins (KIP-511), and the library. The first one of each library is also the
name that the table `clients` gives where behaviour shows the library."""

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
"""The highest versions of APIS that the brokers of a release support; releases without a change are left out."""
FIRST_MODERN = 7
"""Place of 2.1 in RELEASES: the oldest protocol of current brokers and clients (KIP-896)."""

EVERY, FIRST, BUT_FIRST, NEVER = "every", "first", "but_first", "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A release of a library, or several that behave alike."""

    library: str
    greets: str
    """Which of its connections begin with ApiVersions: EVERY, at least its FIRST, all BUT_FIRST, or NEVER any."""
    greetings: frozenset[int] = frozenset()
    """Versions of that request. From version 3 on it carries the software name."""
    first_id: int | None
    """The correlation id of the first request on a connection to a broker that it was not connected to before. None:
    any, as one counter numbers the requests of all connections."""
    versions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """API -> the versions that it implements, where not all up to the highest; where the versions do not depend on the
    broker, those that it sends."""
    releases: tuple[tuple[int, ...], ...] = RELEASES[FIRST_MODERN:]
    """What brokers may limit it to, or, of the Java client, what it implements; empty: it sends `versions`, whatever
    the broker supports. Brokers before 2.1 are left out: several libraries are alike towards them."""


def _up_to(*highest: int | None) -> dict[int, tuple[int, ...]]:
    """The versions of APIS up to the highest ones; None: not known, or the library does not have the API."""
    return {api: tuple(range(v + 1)) for api, v in zip(APIS, highest, strict=True) if v is not None}


def _only(*sent: int | None) -> dict[int, tuple[int, ...]]:
    """The one version of each of APIS that a library sends, whatever the broker supports."""
    return {api: (v,) for api, v in zip(APIS, sent, strict=True) if v is not None}


# fmt: off
PROFILES: tuple[Profile, ...] = (
    Profile(library="java", greets=EVERY, greetings=frozenset({0}), first_id=None, releases=RELEASES[:3]),
    Profile(library="java", greets=EVERY, greetings=frozenset({1}), first_id=None, releases=RELEASES[:6]),
    Profile(library="java", greets=EVERY, greetings=frozenset({2}), first_id=None, releases=RELEASES[:10]),
    Profile(library="java", greets=EVERY, greetings=frozenset({3, 4}), first_id=None, releases=RELEASES),
    Profile(library="librdkafka", greets=EVERY, greetings=frozenset({3}), first_id=1,
            versions=_up_to(10, 16, 7, 13, 9, 9, 2, 5, 3, 1, 3, 4, 1, 1)),
    Profile(library="librdkafka", greets=EVERY, greetings=frozenset({3}), first_id=1,
            versions=_up_to(7, 11, 2, 4, 7, 7, 2, 5, 3, 1, 3, 4, 1, 1)),
    Profile(library="librdkafka", greets=EVERY, greetings=frozenset({0}), first_id=1, releases=(),
            versions=_only(7, 4, 0, 2, 1, 1, 0, 2, 0, 0, 0, None, 1, None)),
    Profile(library="librdkafka", greets=NEVER, first_id=1, releases=(),  # api.version.request=false
            versions=_only(1, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, None, 0, None)),
    Profile(library="franz-go", greets=EVERY, greetings=frozenset({3, 4, 5}), first_id=0,
            versions=_up_to(13, 18, 11, 13, 10, 10, 6, 9, 4, 5, 5, 5, 1, 2)),
    Profile(library="sarama", greets=EVERY, greetings=frozenset({3, 4}), first_id=0,
            versions=_up_to(10, 12, 6, 11, 8, 8, 3, 8, 4, 5, 5, 4, 1, 2)),
    Profile(library="sarama", greets=NEVER, first_id=0, releases=(),  # Config.Version 1.0, its default, and later
            versions={**_only(None, None, 1, 5, 1, 1, 0, 1, 0, 0, 0, 0, None, None),
                      api_keys.PRODUCE: (3, 7), api_keys.FETCH: (4, 7, 10, 11)}),
    Profile(library="sarama", greets=NEVER, first_id=0, releases=(),  # Config.Version 0.10 to 0.11
            versions={**_up_to(3, 5, 1, 4, 2, 3, 1, 2, 1, 1, 1, 0, None, None),
                      api_keys.PRODUCE: (2, 3), api_keys.METADATA: (1, 2, 3, 4), api_keys.FETCH: (2, 3, 4, 5)}),
    Profile(library="sarama", greets=NEVER, first_id=0, releases=(),  # Config.Version 0.8 and 0.9
            versions=_only(0, 0, 0, 0, None, 1, 0, 0, 0, 0, 0, None, None, None)),
    Profile(library="kafka-python", greets=EVERY, greetings=frozenset({3, 4}), first_id=1,
            versions=_up_to(9, 12, 11, 13, 8, 8, 6, 7, 4, 5, 5, 4, 1, 2)),
    Profile(library="kafka-python", greets=FIRST, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**_only(7, 4, 1, None, 2, 1, 0, 2, 1, 1, 1, None, 1, 0), api_keys.METADATA: (0, 1)}),
    Profile(library="kafka-python", greets=NEVER, first_id=1, releases=(),  # api_version (0, 10) and before
            versions={**_only(None, None, 0, None, 2, 1, 0, 0, 0, 0, 0, None, 0, None), api_keys.METADATA: (0, 1),
                      api_keys.PRODUCE: (0, 1, 2), api_keys.FETCH: (0, 1, 2), api_keys.OFFSET_COMMIT: (0, 1, 2),
                      api_keys.OFFSET_FETCH: (0, 1)}),
    Profile(library="kafkajs", greets=FIRST, greetings=frozenset({2}), first_id=0,
            versions=_up_to(7, 11, 3, 6, 5, 4, 2, 5, 3, 3, 3, 1, 1, 1)),
    Profile(library="aiokafka", greets=EVERY, greetings=frozenset({0}), first_id=1,
            versions={**_up_to(7, 11, 3, 5, 3, 3, 1, None, 1, 1, None, 0, 1, 1),
                      api_keys.JOIN_GROUP: (0, 1, 2, 5), api_keys.SYNC_GROUP: (0, 1, 3)}),
    Profile(library="aiokafka", greets=BUT_FIRST, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**_only(7, 4, 1, None, 2, 1, 1, 2, 1, 1, 1, 0, 1, 0), api_keys.METADATA: (0, 1)}),
    Profile(library="kafka-go", greets=EVERY, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**_only(None, 10, 1, None, 2, 1, 0, 1, 0, 0, 0, None, 1, 0), api_keys.PRODUCE: (7, 8),
                      api_keys.METADATA: (1, 8, 9)}),
)
# fmt: on

WITHOUT_TOPIC_IDS = {api_keys.OFFSET_COMMIT: 9, api_keys.OFFSET_FETCH: 9, api_keys.PRODUCE: 12, api_keys.FETCH: 12}
"""Highest versions that name topics: clients fall back to them for topics whose id they do not know (KIP-516)."""
