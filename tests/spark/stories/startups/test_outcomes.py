"""At which step a start failed: the order in which a person would check."""

from kafkascope_spark.stories.startups.outcomes import failed_at
from kafkascope_spark.stories.startups.steps import Step


def step(name: str, outcome: str = "ok", error: str | None = None, server: str = "a:1") -> Step:
    return Step(name, name, server, None, 0, 1, None, server, outcome, error, [], server=server)


REFUSED = step("tcp_connect", "error", "CONNECTION_REFUSED")
UP = step("tcp_connect")


def test_no_bootstrap_address_answers() -> None:
    assert failed_at([REFUSED, step("tcp_connect", "unanswered", "CONNECTION_UNANSWERED", "b:1")]).server == "b:1"  # type: ignore[union-attr]


def test_a_fatal_error_comes_before_an_unanswered_request() -> None:
    denied = step("sasl_authenticate", "error", "SASL_AUTHENTICATION_FAILED")
    assert failed_at([UP, denied, step("metadata", "unanswered")]) is denied


def test_no_metadata_response_comes_before_an_unreachable_broker() -> None:
    silent = step("metadata", "unanswered")
    assert failed_at([UP, silent, step("tcp_connect", "unanswered", None, "b:1")]) is silent


def test_an_advertised_broker_that_cannot_be_reached() -> None:
    gone = step("tcp_connect", "unanswered", "CONNECTION_UNANSWERED", "10.9.9.9:9092")
    assert failed_at([UP, step("metadata"), gone, step("first_fetch", "unanswered")]) is gone


def test_a_broker_that_was_reached_in_the_end_is_not_why() -> None:
    later = step("init_producer_id", "error", "NOT_COORDINATOR")
    assert failed_at([REFUSED, UP, step("metadata"), later]) is later


def test_nothing_failed() -> None:
    assert failed_at([UP, step("metadata")]) is None
