"""What `old_versions` advises, library by library. Releases: the table of clients in KIP-896."""

from types import SimpleNamespace

import pytest

from kafkascope_spark.stories.findings.rules.old_versions import DETECTOR, RULE


def advice(name: str | None, version: str | None = None, **more: object) -> str:
    facts = {"software_name": name, "software_version": version, "refusing": [], "nodes": [], "is_limited": None}
    assert callable(DETECTOR.advice)
    return DETECTOR.advice(SimpleNamespace(**facts | more))


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("apache-kafka-java", "1.0.2", "Upgrade kafka-clients (Java) (now 1.0.2) to 2.1 or newer before"),
        ("apache-kafka-java", "2.0.1", "Upgrade kafka-clients (Java) (now 2.0.1) to 2.1 or newer before"),
        ("apache-kafka-java", None, "Upgrade kafka-clients (Java) to 2.1 or newer before the brokers get Kafka 4.0."),
        ("librdkafka", "1.8.0", "Upgrade librdkafka (now 1.8.0) to 1.8.2 or newer"),
        ("confluent-kafka-python", "1.0.1-rdkafka-1.0.1", "Upgrade librdkafka (now 1.0.1-rdkafka-1.0.1) to 1.8.2"),
        (
            "confluent-kafka",
            None,
            "to 1.8.2 or newer before the brokers get Kafka 4.0; if it is that new already, leave",
        ),
        (
            "confluent-kafka-go",
            "v2.3.0-rdkafka-2.3.0",
            "is new enough for Kafka 4.0: leave api.version.request",
        ),
        ("kafkajs", None, "Upgrade KafkaJS to 1.15.0 or newer before the brokers get Kafka 4.0."),
        (
            "sarama",
            "v1.61.1",
            "sarama v1.61.1 is new enough for Kafka 4.0: set Version of its Config",
        ),
        ("sarama", None, "before the brokers get Kafka 4.0; if it is that new already, set Version"),
        (
            "kafka-python",
            None,
            "Upgrade kafka-python to 2.0.2 or newer before the brokers get Kafka 4.0; if it is that",
        ),
        ("aiokafka", None, "Upgrade aiokafka to a release that speaks the protocol of Kafka 2.1 or newer"),
    ],
)
def test_each_library_has_its_release_or_its_setting(name: str, version: str | None, expected: str) -> None:
    assert expected in advice(name, version)


def test_an_unknown_library_gets_all_of_them() -> None:
    for text in (advice(None), RULE.advice):
        expected = ("(Java) 2.1", "librdkafka 1.8.2", "KafkaJS 1.15.0", "Sarama 1.30.1", "kafka-python 2.0.2")
        assert all(release in text for release in expected)


def test_which_brokers_refuse_it() -> None:
    refused = advice("sarama", None, refusing=[2, 3], nodes=[1, 2, 3])
    assert refused.endswith("Of the brokers here nodes 2, 3 would refuse it, as all of Kafka 4.0 or newer do.")
    answered = advice("sarama", None, nodes=[1])
    assert answered.endswith("The brokers here (node 1) still answer it; those of Kafka 4.0 or newer refuse it.")
    assert advice("sarama").endswith("Brokers of Kafka 4.0 or newer refuse it.")


def test_brokers_that_offer_no_newer_version_are_upgraded_first() -> None:
    text = "The brokers here offer no newer versions of them: upgrade these first."
    assert text in advice("apache-kafka-java", "3.5.2", nodes=[1], is_limited=True)
    assert text not in advice("apache-kafka-java", None, nodes=[1], is_limited=False)
