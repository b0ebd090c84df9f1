"""What is said of a member that its group removed and that did not come back."""

from typing import Any

import pytest

from kafkascope_spark.stories.findings.rule import Facts
from kafkascope_spark.stories.findings.silent_members import MISSING_MEMBERS

S = 1_000_000_000


def facts(**more: Any) -> Facts:
    known = {"client_id": "app", "client_ip": "10.0.0.9", "group_id": "orders", "client_end": "open"}
    known |= {"first_ns": 20 * S, "last_seen_ns": 8 * S, "silent_ms": 12_000, "session_timeout_ms": 10_000}
    return Facts(known | {"software_name": "kafkajs"} | more, 0)


@pytest.mark.parametrize(
    ("more", "said", "not_said"),
    [
        ({}, "for 12.0 s, its session timeout is 10000 ms", "ended without leaving"),
        ({"client_end": "died"}, "10000 ms; it ended without leaving", "A client"),
        ({"session_timeout_ms": None}, "for 12.0 s", "session timeout"),
    ],
)
def test_how_long_it_was_silent_and_whether_it_ended(more: dict[str, Any], said: str, not_said: str) -> None:
    """A broker's session timeout (KIP-848) is in no message."""
    sentence = MISSING_MEMBERS.sentence(facts(**more))
    assert sentence.startswith("Group orders continued without app (10.0.0.9) at 00:20.000")
    assert "it sent nothing since 00:08.000" in sentence
    assert said in sentence
    assert not_said not in sentence


def test_the_setting_is_that_of_its_library() -> None:
    assert "sessionTimeout (kafkajs) (now 10000)" in MISSING_MEMBERS.advice(facts())
    assert "(now" not in MISSING_MEMBERS.advice(facts(session_timeout_ms=None))
    assert MISSING_MEMBERS.subject(facts()) == "orders"
