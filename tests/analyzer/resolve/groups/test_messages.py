"""Which heartbeats of KIP-848 matter, against the definition in plain Python; names of assigned topics."""

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.groups.messages import relevant_heartbeats, request_bodies, response_bodies

TOPICS = pa.list_(pa.struct([("topic_id", pa.string()), ("partitions", pa.list_(pa.int32()))]))
TASKS = pa.list_(pa.struct([("subtopology_id", pa.string()), ("partitions", pa.list_(pa.int32()))]))
REQUEST = pa.schema(
    [
        ("request_id", pa.string()),
        ("ts_ns", pa.int64()),
        ("member_id", pa.string()),
        ("member_epoch", pa.int32()),
        ("rebalance_timeout_ms", pa.int32()),
        ("subscribed_topic_names", pa.list_(pa.string())),
        ("subscribed_topic_regex", pa.string()),
        ("server_assignor", pa.string()),
        ("topic_partitions", TOPICS),
        ("active_tasks", TASKS),
    ]
)
RESPONSE = pa.schema(
    [
        ("request_id", pa.string()),
        ("ts_ns", pa.int64()),
        ("error_code", pa.int16()),
        ("member_id", pa.string()),
        ("member_epoch", pa.int32()),
        ("heartbeat_interval_ms", pa.int32()),
        ("assignment", pa.struct([("topic_partitions", TOPICS)])),
        ("active_tasks", TASKS),
        ("standby_tasks", TASKS),
        ("warmup_tasks", TASKS),
    ]
)


class Messages:
    """Reads tables as ingest's messages, some rows at a time."""

    def __init__(self, requests: list[dict[str, Any]], responses: list[dict[str, Any]], rows: int = 1000) -> None:
        self._tables = {
            "request": pa.Table.from_pylist(requests, REQUEST),
            "response": pa.Table.from_pylist(responses, RESPONSE),
        }
        self._rows = rows

    def __call__(self, message: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        table = self._tables[message.partition("/")[2]].select(columns)
        yield from table.to_batches(max_chunksize=self._rows)


def some_heartbeats(rng: random.Random, n: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Heartbeats of which most change nothing; some are without a request or without a response."""
    requests: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    for i in range(n):
        epoch = rng.choice((-1, 0, 3, 3, 3, 3, 3, 3))
        names = rng.choice((None, None, None, None, [], ["t"]))
        owned: list[Any] | None = rng.choice((None, None, None, []))
        request = {"request_id": f"c-{i}", "ts_ns": i, "member_epoch": epoch, "subscribed_topic_names": names}
        request |= {"topic_partitions": owned, "subscribed_topic_regex": rng.choice((None, None, None, "t.*"))}
        response = {"request_id": f"c-{i}", "ts_ns": i + 3, "member_epoch": rng.choice((3, 3, 3, 4))}
        response |= {"error_code": rng.choice((0, 0, 0, 0, 25))}
        response |= {"assignment": rng.choice((None, None, None, {"topic_partitions": []}))}
        if rng.random() < 0.9:
            requests.append(request)
        if rng.random() < 0.9:
            responses.append(response)
    return requests, responses


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_heartbeats_that_change_something(batch_rows: int) -> None:
    requests, responses = some_heartbeats(random.Random(3), 300)
    answers = {one["request_id"]: one for one in responses}
    want = {one["request_id"] for one in responses if one["error_code"] or one["assignment"] is not None}
    for one in requests:
        columns = ("subscribed_topic_names", "subscribed_topic_regex", "topic_partitions")
        answer = answers.get(one["request_id"])
        other_epoch = answer is not None and answer["member_epoch"] != one["member_epoch"]
        if one["member_epoch"] <= 0 or other_epoch or any(one[name] is not None for name in columns):
            want.add(one["request_id"])
    got = relevant_heartbeats(Messages(requests, responses, batch_rows), "ConsumerGroupHeartbeat")
    assert set(got.to_pylist()) == want
    assert 20 < len(want) < 290


def test_assigned_topics_have_their_names() -> None:
    given = [{"topic_id": "id-1", "partitions": [0, 2]}, {"topic_id": "id-2", "partitions": [1]}]
    responses: list[dict[str, Any]] = [
        {"request_id": "c-1", "assignment": {"topic_partitions": given}},
        {"request_id": "c-2"},
        {"request_id": "c-3", "assignment": {"topic_partitions": []}},
    ]
    named = TopicNames.of({"id-1": "orders"})
    table = response_bodies(Messages([], responses), "ConsumerGroupHeartbeat", named)
    bodies = dict(zip(table["request_id"].to_pylist(), table["body"].to_pylist(), strict=True))
    assert bodies["c-1"]["assigned_topics"] == [
        {"topic": "orders", "partitions": [0, 2]},
        {"topic": "id-2", "partitions": [1]},
    ]
    assert [bodies[f"c-{n}"]["has_assignment"] for n in (1, 2, 3)] == [True, False, True]
    wanted = response_bodies(Messages([], responses), "ConsumerGroupHeartbeat", named, pa.array(["c-3"]))
    assert wanted["request_id"].to_pylist() == ["c-3"]


def test_standby_and_warmup_tasks_are_one_list() -> None:
    def tasks(*names: str) -> list[dict[str, Any]]:
        return [{"subtopology_id": name, "partitions": [0]} for name in names]

    responses: list[dict[str, Any]] = [
        {"request_id": "c-1", "active_tasks": tasks("a"), "standby_tasks": tasks("b", "c"), "warmup_tasks": tasks("d")},
        {"request_id": "c-2", "active_tasks": [], "warmup_tasks": tasks("e")},
        {"request_id": "c-3"},
    ]
    table = response_bodies(Messages([], responses), "StreamsGroupHeartbeat", TopicNames.of({}))
    standby = pc.struct_field(table["body"].combine_chunks(), "standby_tasks").to_pylist()
    assert [[task["subtopology_id"] for task in one] for one in standby] == [["b", "c", "d"], ["e"], []]
    bodies = request_bodies(Messages([{"request_id": "c-1", "member_epoch": 7}], []), "StreamsGroupHeartbeat")
    assert bodies["body"].to_pylist()[0]["member_epoch"] == 7
