"""The table of settings: which library calls a setting what."""

import pytest

from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.settings import setting, settings


def test_java_has_a_name_for_every_setting() -> None:
    for library in LIBRARIES:
        assert library.settings.keys() <= JAVA.settings.keys(), "the name where the library is unknown"


@pytest.mark.parametrize(
    ("concept", "libraries", "name"),
    [
        ("session_timeout", ["java"], "session.timeout.ms"),
        ("session_timeout", ["kafkajs"], "sessionTimeout (kafkajs)"),
        ("session_timeout", ["unknown"], "session.timeout.ms (Java name)"),
        ("session_timeout", [], "session.timeout.ms (Java name)"),
        ("session_timeout", ["kafkajs", "unknown"], "sessionTimeout (kafkajs)"),
        ("request_timeout", ["librdkafka", "java"], "request.timeout.ms (Java), socket.timeout.ms (librdkafka)"),
        ("fetch_min", ["aiokafka", "kafka-python"], "fetch_min_bytes (kafka-python, aiokafka)"),
        ("metadata_age", ["sarama", "kafkajs"], "Metadata.RefreshFrequency (sarama), metadataMaxAge (kafkajs)"),
        ("poll_records", ["sarama"], None),
        ("poll_records", ["sarama", "java"], "max.poll.records (Java)"),
    ],
)
def test_a_setting_has_the_name_of_the_library(concept: str, libraries: list[str], name: str | None) -> None:
    assert setting(concept, libraries) == name


def test_defaults_are_named_on_request() -> None:
    assert setting("linger", ["java"], defaults=True) == "linger.ms (default 5; 0 before Kafka 4.0)"
    assert setting("session_timeout", ["aiokafka"], defaults=True) == "session_timeout_ms (aiokafka, default 10000)"
    assert setting("session_timeout", defaults=True) == "session.timeout.ms (Java name, default 45000)"
    both = setting("session_timeout", ["aiokafka", "kafka-python"], defaults=True)
    assert both == "session_timeout_ms (kafka-python, default 45000; aiokafka, default 10000)"
    assert setting("bootstrap", ["kafkajs"], defaults=True) == "brokers (kafkajs)"


def test_several_settings_are_joined_and_what_a_library_lacks_is_left_out() -> None:
    assert settings(("linger", "batch_size"), ["java"]) == "linger.ms and batch.size"
    assert settings(("linger", "compression"), ["kafkajs"]) == "compression of producer.send (kafkajs)"
    assert settings(("linger", "batch_size"), ["kafkajs"]) is None
    assert settings(("retry_backoff", "reconnect_backoff"), ["franz-go"]) == "kgo.RetryBackoffFn (franz-go)"
