"""What `leader_storm` advises: brokers name a new leader from Kafka 3.7 on (KIP-951), and never a new coordinator."""

from types import SimpleNamespace

from kafkascope_spark.stories.findings.rules.leader_storm import DETECTOR


def advice(*error_names: str, never_looked_up: bool = False) -> str:
    assert callable(DETECTOR.advice)
    facts = {"libraries": ["kafkajs"], "error_names": list(error_names), "never_looked_up": never_looked_up}
    return DETECTOR.advice(SimpleNamespace(**facts))


def test_a_client_that_takes_the_leader_from_the_answer_needs_brokers_that_name_it() -> None:
    assert "with brokers of Kafka 3.7 or newer" in advice("NOT_LEADER_OR_FOLLOWER")
    assert "KIP-951" in advice("NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER")


def test_a_leader_that_has_a_later_epoch_need_not_have_moved() -> None:
    text = advice("FENCED_LEADER_EPOCH")
    assert "asks for Metadata" in text
    assert not any(word in text for word in ("KIP-951", "Raise", "auto.leader.rebalance.enable"))


def test_no_answer_names_a_coordinator() -> None:
    text = advice("NOT_COORDINATOR")
    assert "KIP-951" not in text
    assert text.startswith("Raise the client's retry.initialRetryTime (kafkajs")


def test_a_client_that_never_asks_for_its_coordinator_is_not_told_to_pause() -> None:
    text = advice("NOT_COORDINATOR", never_looked_up=True)
    assert "FindCoordinator" in text
    assert "retry.initialRetryTime" not in text
