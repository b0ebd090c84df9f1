"""Which consumers a last stable offset blocks, and whose transaction it is: on rows made by hand, as a scan spills
them."""

import pathlib
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.tables.event_kinds.transactions import SHORTEST_UNSEEN_NS
from kafkascope_analyzer.resolve.transactions.blocked import blocked_consumers
from kafkascope_analyzer.scan.partitions import CODED_TEXT, spill_name
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_analyzer.scan.transaction_picks import BLOCKED, READERS, pick_blocked, pick_read_committed

SECOND = 1_000_000_000
PRODUCE, FETCH, LIST_OFFSETS = 0, 1, 2
TOPIC_IDS = {"id-of-busy": "busy"}
FETCHED = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("ts_ns", pa.int64()),
        ("topic", CODED_TEXT),
        ("topic_id", CODED_TEXT),
        ("partition", pa.int32()),
        ("last_stable_offset", pa.int64()),
        ("high_watermark", pa.int64()),
    ]
)
PRODUCED = pa.schema(
    [
        *(field for field in FETCHED if field.name not in ("ts_ns", "last_stable_offset", "high_watermark")),
        ("partition_offset", pa.int64()),
        ("error_code", pa.int16()),
    ]
)
REQUESTS = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("ts_ns", pa.int64()),
        ("api_key", pa.int16()),
        ("isolation_level", pa.int8()),
        ("transactional_id", pa.string()),
    ]
)
COMMITTED, UNCOMMITTED, MOVING, QUIET, PRODUCER = range(5)
"""Connections: readers by isolation level, one whose offset moves, one for whom nothing comes, and a producer."""


def answers(conn: int, topic: str, stable: list[int], high: list[int]) -> list[dict[str, Any]]:
    """One Fetch response every 4 s; topic: a name, or an id of TOPIC_IDS."""
    place = {"topic_id": topic} if topic in TOPIC_IDS else {"topic": topic}
    pairs = enumerate(zip(stable, high, strict=True))
    offsets = (
        {"number": n, "ts_ns": 4 * n * SECOND, "last_stable_offset": a, "high_watermark": b} for n, (a, b) in pairs
    )
    return [{"conn": conn, "partition": 0, **place, **each} for each in offsets]


ANSWERS = [
    *answers(COMMITTED, "stuck", [17] * 4, [18, 20, 22, 24]),
    *answers(UNCOMMITTED, "stuck", [17] * 4, [18, 20, 22, 25]),
    *answers(MOVING, "id-of-busy", [10, 10, 14, 16], [11, 13, 15, 17]),
    *answers(QUIET, "quiet", [5] * 4, [6] * 4),
]
LEVELS = {COMMITTED: 1, UNCOMMITTED: 0, MOVING: 1, QUIET: 1}


def spilled(folder: pathlib.Path, batches: list[list[dict[str, Any]]], produced: list[dict[str, Any]]) -> pathlib.Path:
    """What a scan spills of Fetch responses, block by block, and of Produce: topic `busy` by its name."""
    spill = Spill(folder)
    fetches = [
        {"conn": conn, "api_key": api, "isolation_level": 1 if api == LIST_OFFSETS else level}
        for conn, level in LEVELS.items()
        for api in (FETCH, LIST_OFFSETS)
    ]
    writes = [
        {"conn": PRODUCER, "number": row["number"], "ts_ns": row["number"], "api_key": PRODUCE,
         "transactional_id": row.pop("id")}
        for row in produced
    ]  # fmt: skip
    settled = pa.Table.from_pylist([*fetches, *writes], schema=REQUESTS)
    readers = pick_read_committed(settled)
    assert readers is not None
    spill.gather(READERS, readers)
    for batch in batches:
        blocked = pick_blocked(pa.Table.from_pylist(batch, schema=FETCHED), FETCH, "response")
        if blocked is not None:
            spill.gather(BLOCKED, blocked)
    spill.gather("requests", settled)
    spill.gather("connections", pa.table({"conn_id": [f"c{n}" for n in range(5)]}))
    spill.gather(spill_name(PRODUCE, "response"), pa.Table.from_pylist(produced, schema=PRODUCED))
    spill.close()
    return folder


def batch_at(offset: int, number: int, transactional_id: str | None, **more: Any) -> dict[str, Any]:
    """A Produce response for partition busy-0, and the transactional id of its request."""
    places = {"conn": PRODUCER, "number": number, "topic": "busy", "partition": 0}
    return {**places, "partition_offset": offset, "error_code": 0, "id": transactional_id, **more}


@pytest.mark.parametrize("size", [1, 3, len(ANSWERS)])
def test_only_who_reads_committed_records_and_only_while_records_come(tmp_path: pathlib.Path, size: int) -> None:
    batches = [ANSWERS[at : at + size] for at in range(0, len(ANSWERS), size)]
    (row,) = blocked_consumers([spilled(tmp_path / "0", batches, [])], TopicNames.of(TOPIC_IDS)).to_pylist()
    assert row == {
        "transactional_id": "",
        "ts_ns": 0,
        "conn_id": "c0",
        "number": 3,
        "partition": "stuck-0",
        "last_stable_offset": 17,
        "from_ns": 0,
        "until_ns": 12 * SECOND,
        "lowest_high_watermark": 18,
        "highest_high_watermark": 24,
    }


def test_the_transaction_is_that_of_the_first_batch_at_the_offset(tmp_path: pathlib.Path) -> None:
    produced = [
        batch_at(9, 1, "other-tx"),
        batch_at(10, 2, "refused-tx", error_code=6),
        batch_at(10, 3, None),
        batch_at(10, 4, "busy-tx"),
        batch_at(10, 5, "busy-tx"),
        batch_at(14, 6, "later-tx"),
    ]
    rows = blocked_consumers([spilled(tmp_path / "0", [ANSWERS], produced)], TopicNames.of(TOPIC_IDS)).to_pylist()
    (row,) = [row for row in rows if row["transactional_id"]]
    assert (row["transactional_id"], row["ts_ns"], row["conn_id"]) == ("busy-tx", 4, "c2")
    assert (row["partition"], row["last_stable_offset"], row["until_ns"]) == ("busy-0", 10, 4 * SECOND)


def test_what_readers_of_other_buckets_see_counts_for_whether_it_is_long(tmp_path: pathlib.Path) -> None:
    early, late = answers(COMMITTED, "stuck", [17, 17], [18, 20]), answers(COMMITTED, "stuck", [17] * 4, [18] * 4)
    alone = blocked_consumers([spilled(tmp_path / "0", [early], [])], TopicNames.of({}))
    assert alone.num_rows == 0
    spills = [spilled(tmp_path / "1", [early], []), spilled(tmp_path / "2", [late], [])]
    both = blocked_consumers(spills, TopicNames.of({})).to_pylist()
    assert [row["until_ns"] for row in both] == [4 * SECOND, 12 * SECOND]
    assert 4 * SECOND < SHORTEST_UNSEEN_NS <= 12 * SECOND
    assert {row["ts_ns"] for row in both} == {0}


def test_nothing_is_picked_where_nobody_is_behind() -> None:
    level = pa.Table.from_pylist(answers(COMMITTED, "t", [7, -1], [7, 9]), schema=FETCHED)
    assert pick_blocked(level, FETCH, "response") is None
    behind = pa.Table.from_pylist(answers(COMMITTED, "t", [7], [9]), schema=FETCHED)
    assert pick_blocked(behind, FETCH, "request") is None
    assert pick_blocked(behind, FETCH, "response") is not None
