"""Guesses the client library from behaviour, where no ApiVersions v3+ (KIP-511) names it.

Only the Java client counts correlation ids over all its connections. A client sends the highest version of an API that
both sides support, so that towards a newer broker its versions are those of its release. A guess is made only when all
versions that were observed are those of one library, and of no other.
"""

from kafkascope_spark import api_keys
from kafkascope_spark.identity.by_counter import JAVA, counts_over_connections
from kafkascope_spark.model import Connection

_COLUMNS = (
    api_keys.PRODUCE,
    api_keys.FETCH,
    api_keys.LIST_OFFSETS,
    api_keys.OFFSET_COMMIT,
    api_keys.OFFSET_FETCH,
    api_keys.FIND_COORDINATOR,
    api_keys.JOIN_GROUP,
    api_keys.HEARTBEAT,
    api_keys.SYNC_GROUP,
    api_keys.INIT_PRODUCER_ID,
)
_HIGHEST: dict[str, tuple[tuple[int, ...], ...]] = {
    # in the order of _COLUMNS
    JAVA: ((13, 18, 11, 9, 9, 6, 9, 4, 5, 5), (11, 17, 9, 9, 9, 6, 9, 4, 5, 5)),
    "librdkafka": ((10, 16, 7, 9, 9, 2, 5, 3, 3, 4),),
    "kgo": ((13, 18, 11, 10, 10, 6, 9, 4, 5, 5),),
    "sarama": ((10, 12, 6, 8, 8, 3, 8, 4, 5, 4),),
    "kafka-python": ((9, 12, 11, 8, 8, 6, 7, 4, 5, 4),),
    "kafkajs": ((7, 11, 3, 5, 4, 2, 5, 3, 3, 1),),
    "aiokafka": ((7, 11, 3, 3, 3, 1, 5, 1, 3, 0),),
}
"""Library -> highest versions that its releases send (measured: Java 4.3.1 and 3.9.1, librdkafka 2.16, franz-go 1.22,
sarama 1.61, kafka-python 3.0, kafkajs 2.2, aiokafka 0.14, towards Kafka 4.3.1)."""


def guess_software(connections: list[Connection]) -> str | None:
    """The software name that the library would send in ApiVersions; None when behaviour does not decide."""
    if len(connections) > 1 and counts_over_connections(connections):
        return JAVA
    versions_by_api: dict[int, set[int]] = {}
    for connection in connections:
        for api_key, version in connection.versions.items():
            versions_by_api.setdefault(api_key, set()).add(version)
    observed = [(at, versions_by_api[api]) for at, api in enumerate(_COLUMNS) if api in versions_by_api]
    fitting = [name for name, releases in _HIGHEST.items() if any(_fits(observed, r) for r in releases)]
    return fitting[0] if observed and len(fitting) == 1 else None


def _fits(observed: list[tuple[int, set[int]]], release: tuple[int, ...]) -> bool:
    return all(versions == {release[at]} for at, versions in observed)
