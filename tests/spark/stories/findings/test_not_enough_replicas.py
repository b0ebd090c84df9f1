"""What is advised where writes were refused because too few replicas are in sync, as the broker says."""

from types import SimpleNamespace
from typing import Any, cast

from kafkascope_spark.stories.findings.rules.not_enough_replicas import DETECTOR, RULE


def advice_of(**facts: Any) -> str:
    assert callable(DETECTOR.advice)
    return DETECTOR.advice(cast("Any", SimpleNamespace(**facts)))


def test_a_coordinator_that_could_not_be_asked_is_no_lack_of_replicas() -> None:
    advice = advice_of(underlying=["NETWORK_EXCEPTION"], n_without=0)
    assert "NETWORK_EXCEPTION" in advice
    assert "min.insync.replicas" not in advice


def test_one_refusal_without_another_cause_is_a_lack_of_replicas() -> None:
    advice = advice_of(underlying=["NETWORK_EXCEPTION"], n_without=1)
    assert advice == RULE.advice
    assert "lost" in advice
