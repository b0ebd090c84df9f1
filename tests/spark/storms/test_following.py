"""What follows a failed mention, against a search backwards from each mention."""

import random
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.storms.following import KINDS, Following

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("request_id", pa.string()),
        ("failed", pa.bool_()),
        ("kind", pa.int32()),
        ("wanted", pa.bool_()),
        ("number", pa.int64()),
    ]
)
MOST = 2


def expected(rows: list[dict[str, Any]]) -> list[int]:
    """The rows that are to be kept, each looked at by itself."""
    found = []
    for at, row in enumerate(rows):
        mine = [r for r in rows if r["key"] == row["key"]]
        here = mine.index(row)
        failures = [i for i in range(here) if mine[i]["failed"]]
        since = [r for r in mine[failures[-1] + 1 : here + 1] if r["kind"] == row["kind"]] if failures else []
        after = mine[here + 1] if here + 1 < len(mine) else None
        fails = after is not None and after["failed"] and after["request_id"] == row["request_id"]
        follows = bool(failures) and len(since) <= MOST and not row["failed"] and not fails
        if follows or row["wanted"]:
            found.append(at)
    return found


@pytest.mark.parametrize("size", [1, 3, 17, 200])
def test_what_follows_a_failure_closely_is_kept(size: int) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        rows = [
            {
                "key": chance.choice([5, -7, 9][: 1 + seed % 3]),
                "request_id": str(chance.randrange(i // 3, i // 3 + 3)),
                "failed": chance.random() < 0.2,
                "kind": chance.randrange(KINDS),
                "wanted": chance.random() < 0.1,
                "number": i,
            }
            for i in range(chance.randrange(1, 120))
        ]
        given = [pa.RecordBatch.from_pylist(rows[at : at + size], SCHEMA) for at in range(0, len(rows), size)]
        following = Following(MOST)
        told = [number for batch in given for number in following.feed(batch)["number"].to_pylist()]
        told += following.held["number"].to_pylist() if following.held is not None else []
        assert sorted(told) == expected(rows), (seed, size)


def test_nothing_gives_nothing() -> None:
    following = Following(MOST)
    assert following.held is None
    assert following.feed(pa.RecordBatch.from_pylist([], SCHEMA)).num_rows == 0
