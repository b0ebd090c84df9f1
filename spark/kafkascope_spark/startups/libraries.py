"""Recognises the client library of a client: by the software name of ApiVersions (KIP-511), else by its first
request."""

from kafkascope_spark import api_keys
from kafkascope_spark.model import Connection

_PREFIXES = (
    ("apache-kafka-java", "java"),
    ("confluent-kafka", "librdkafka"),
    ("librdkafka", "librdkafka"),
    ("kgo", "franz-go"),
    ("franz-go", "franz-go"),
    ("sarama", "sarama"),
    ("kafka-python", "kafka-python"),
    ("kafkajs", "kafkajs"),
    ("aiokafka", "aiokafka"),
)
LIBRARIES = ("java", "librdkafka", "franz-go", "sarama", "kafkajs", "kafka-python", "aiokafka", "unknown")


def library_of(connections: list[Connection]) -> str:
    """The library of a client with these connections: one of LIBRARIES.

    Without a software name, ApiVersions v2 and correlation ids from 0 are kafkajs, v0 and ids from 1 are aiokafka
    (measured: kafkajs 2.2, aiokafka 0.14).
    """
    name = next((c.software_name for c in connections if c.software_name), None)
    if name is not None:
        return next((library for prefix, library in _PREFIXES if name.startswith(prefix)), "unknown")
    first = next((c for c in connections if c.ids), None)
    if first is None:
        return "unknown"
    version, first_id = first.versions.get(api_keys.API_VERSIONS), first.ids[0][1]
    return {(2, 0): "kafkajs", (0, 1): "aiokafka"}.get((version if version is not None else -1, first_id), "unknown")
