"""Members that nobody polls: what is said of them, and when it is looked for at all."""

from typing import Any

import pyarrow as pa
import pytest

from kafkascope_parsers.api_keys import CONSUMER_GROUP_HEARTBEAT, JOIN_GROUP, LEAVE_GROUP
from kafkascope_spark.stories.findings.poll_timeouts import LEAVES_AND_REJOINS
from kafkascope_spark.stories.findings.rule import Facts

S = 1_000_000_000


def facts(**more: Any) -> Facts:
    known = {"client_id": "app", "client_ip": "10.0.0.9", "group_id": "orders", "n": 2, "n_timeouts": 2}
    known |= {"poll_ms": 300_000, "first_ns": 5 * S, "software_name": "apache-kafka-java"}
    return Facts(known | more, 0)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "left group orders 2 times as nobody had polled it for the 300000 ms that it allows, first at"),
        ({"n_timeouts": 0, "poll_ms": 9_000}, "as clients do that nobody polls for the 9000 ms that it allows"),
        ({"poll_ms": None, "n": 1}, "left group orders once as nobody had polled it for the time that it allows"),
    ],
)
def test_the_sentence_says_whether_the_client_gave_that_reason(more: dict[str, Any], reason: str) -> None:
    """Java clients give it in LeaveGroup (KIP-800), others leave without a word."""
    sentence = LEAVES_AND_REJOINS.sentence(facts(**more))
    assert sentence.startswith("app (10.0.0.9) left group orders")
    assert reason in sentence


def test_the_advice_names_the_settings_of_its_library() -> None:
    """max.poll.interval.ms and max.poll.records of the Java client; librdkafka has no limit of records."""
    java = LEAVES_AND_REJOINS.advice(facts())
    assert "max.poll.records" in java
    assert "max.poll.interval.ms (now 300000)" in java
    assert "max.poll.records" not in LEAVES_AND_REJOINS.advice(facts(software_name="librdkafka"))


Request = tuple[str, int, int, int, int]
"""Requests of one API on a connection: conn_id, API, first and last time in seconds, leaves among them."""


@pytest.mark.parametrize(
    ("requests", "asked"),
    [
        ([("c1", LEAVE_GROUP, 5, 5, 1), ("c1", JOIN_GROUP, 1, 9, 0)], True),
        ([("c1", LEAVE_GROUP, 9, 9, 1), ("c1", JOIN_GROUP, 1, 5, 0)], False),  # it left for good
        ([("c1", LEAVE_GROUP, 5, 5, 1), ("c2", JOIN_GROUP, 1, 9, 0)], False),  # another consumer joined
        ([("c1", JOIN_GROUP, 1, 9, 0)], False),
        ([("c1", LEAVE_GROUP, 5, 9, 1)], False),
        ([("c1", CONSUMER_GROUP_HEARTBEAT, 1, 9, 1)], True),  # KIP-848: one API joins and leaves
        ([("c1", CONSUMER_GROUP_HEARTBEAT, 1, 9, 0)], False),
    ],
)
def test_spark_is_asked_where_a_member_may_have_left_and_joined_again(requests: list[Request], asked: bool) -> None:
    test = LEAVES_AND_REJOINS.candidates
    assert test is not None
    columns = zip(*((c, api, first * S, last * S, n) for c, api, first, last, n in requests), strict=True)
    table = pa.table(dict(zip(test.columns["membership"], map(list, columns), strict=True)))
    assert test.exist({"membership": table}) is asked
