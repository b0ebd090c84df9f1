"""Tasks of buckets divide rows among shares, and tasks of shares follow them: each row belongs to one share, and what
is counted is what plain Python counts over all rows."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.counts import PRODUCE_SLICES, slice_tables
from kafkascope_analyzer.resolve.flow.divide import DivideBucket
from kafkascope_analyzer.resolve.flow.follow import FollowShare
from kafkascope_analyzer.resolve.flow.shares import Parts, shares_of
from kafkascope_analyzer.resolve.tasks import SpillTask
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, FETCHED, block_end
from kafkascope_analyzer.scan.spill import Spill, read_spill, spilled_tables

SECOND = 1_000_000_000
N_BUCKETS, N_PARTITIONS, PER_BATCH = 3, 7, 5
TOPICS = TopicNames.of({"id-1": "orders"})
_TEXT = pa.dictionary(pa.int32(), pa.string())


class Seen:
    """A reader that keeps what it is shown."""

    def __init__(self) -> None:
        self.accepted: Counter[tuple[str, int, int]] = Counter()
        self.fetched: Counter[tuple[str, int, int]] = Counter()
        self._places: list[tuple[str, int]] = []

    def begin(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> None:
        self._places = list(zip(topics.to_pylist(), partitions.to_pylist(), strict=True))

    def take_accepted(self, rows: Any) -> None:
        for place, offset in zip(rows["place"], rows["first_offset"], strict=True):
            self.accepted[*self._places[place], int(offset)] += 1

    def take_fetched(self, rows: Any) -> None:
        for place, end in zip(rows["place"], rows["high_watermark"], strict=True):
            self.fetched[*self._places[place], int(end)] += 1

    def state(self) -> dict[str, Any]:
        return {}

    def found(self) -> pa.Table:
        return pa.table({"n": [self.accepted.total() + self.fetched.total()]})


def _topics(n: int, by_id: bool) -> dict[str, pa.Array]:
    names = pa.nulls(n, _TEXT) if by_id else pa.array(["orders"] * n, _TEXT)
    return {"topic": names, "topic_id": pa.array(["id-1"] * n, _TEXT) if by_id else pa.nulls(n, _TEXT)}


def _responses(bucket: int, n: int) -> tuple[pa.Table, pa.Table]:
    """Batches and responses to Fetch of connection 0 of a bucket: it sends one batch a second to each partition, which
    it gets 0.1 s later. Bucket 1 names the topic by id."""
    partition = np.tile(np.arange(N_PARTITIONS), n)
    step = np.repeat(np.arange(n), N_PARTITIONS)
    offset = (step * N_BUCKETS + bucket) * PER_BATCH
    ts_ns = (step * SECOND) + bucket * SECOND // 10 + 100 * SECOND
    rows = len(partition)
    both = {**_topics(rows, bucket == 1), "conn": np.zeros(rows, np.int64), "number": np.arange(rows)}
    both |= {"partition": partition.astype(np.int32), "n_records": np.full(rows, PER_BATCH)}
    both |= {"record_bytes": np.full(rows, 100)}
    batches = pa.table(
        {
            **both,
            "ts_ns": ts_ns,
            "partition_offset": offset,
            "error_code": np.zeros(rows, np.int16),
            "sent_ns": ts_ns - 1000,
            "first_timestamp_ms": np.full(rows, -1),
            "max_timestamp_ms": np.full(rows, -1),
        }
    )
    fetched = {name: offset + more for name, more in (("first_offset", 0), ("last_offset", PER_BATCH - 1))}
    fetched |= dict.fromkeys(("high_watermark", "last_stable_offset"), offset + PER_BATCH)
    return batches, pa.table({**both, **fetched, "ts_ns": ts_ns + SECOND // 10, "from_replica": [False] * rows})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The spills of the buckets: two blocks in the first part, and one of the scan's end."""
    for bucket in range(N_BUCKETS):
        batches, fetched = _responses(bucket, 6)
        edges, n = [0, 14, 28, batches.num_rows], 0
        spill = Spill(tmp_path / str(bucket))
        for at, until in pairwise(edges):
            if until == edges[-1]:
                spill.begin_end()
            n += until - at
            spill.write(BATCHES, batches.slice(at, until - at))
            spill.write(FETCHED, fetched.slice(at, until - at))
            spill.gather(BLOCK_ENDS, block_end({BATCHES: n, FETCHED: n}))
        spill.close()
    return tmp_path


def _run(task: SpillTask, folder: Path) -> Any:
    """Runs a task while only the tables are there that it says it reads."""
    wanted, files = set(task.reads()), sorted(folder.glob("*/*.arrow"))
    others = [path for path in files if (path.parent.name, path.name.rsplit(".", 2)[0]) not in wanted]
    hidden = [(path, path.rename(path.with_suffix(".hidden"))) for path in others]
    found = task(folder)
    for path, place in hidden:
        assert not path.exists(), f"{path.name} was there before"
        place.rename(path)
    return found


def test_each_row_is_in_one_share_and_counted_once(folder: Path) -> None:
    parts = Parts([], [], [0], is_saved=False)
    connections = [np.array([[bucket, 1, 0, 0]]) for bucket in range(N_BUCKETS)]
    for bucket, rows in enumerate(connections):
        divided = DivideBucket(str(bucket), rows, TOPICS, (SECOND, N_BUCKETS), parts, None, np.zeros(1, np.bool_))
        assert _run(divided, folder).n_left_out == 0
    spills, seen = [str(bucket) for bucket in range(N_BUCKETS)], [Seen() for _ in range(N_BUCKETS)]
    for share, reader in enumerate(seen):
        assert _run(FollowShare(share, spills, SECOND, parts, [reader], None), folder).n_left_out == 0
    responses = [_responses(bucket, 6) for bucket in range(N_BUCKETS)]
    expected = [
        Counter(("orders", row["partition"], row[name]) for each in responses for row in each[kind].to_pylist())
        for kind, name in enumerate(("partition_offset", "high_watermark"))
    ]
    assert sum((each.accepted for each in seen), Counter()) == expected[0]
    assert sum((each.fetched for each in seen), Counter()) == expected[1]
    assert all({row[1] for row in a.accepted}.isdisjoint(row[1] for row in b.accepted) for a, b in pairwise(seen))
    for bucket, (batches, _) in enumerate(responses):
        directory = folder / str(bucket)
        assert not [name for name in spilled_tables(directory) if name.startswith(("flow.s", "flow.a", "flow.l"))]
        for table in ([PRODUCE_SLICES], slice_tables(directory)):
            rows = [row for name in table for each in read_spill(directory, name) for row in each.to_pylist()]
            by_place = Counter[int]()
            for row in rows:
                by_place[row["partition"]] += row["n_records"]
            assert by_place == Counter(dict.fromkeys(range(N_PARTITIONS), 6 * PER_BATCH))
            assert batches.num_rows == len(rows)
            late = [c for row in rows for c in row["latencies"] or [] if table != [PRODUCE_SLICES]]
            assert all(c["from_us"] <= 100_000 < 2 * c["from_us"] for c in late)
            assert sum(c["n"] for c in late) in (0, 6 * PER_BATCH * N_PARTITIONS)


def test_a_share_does_not_depend_on_other_topics() -> None:
    some, more = pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "b", "a"]).dictionary_encode()
    (a, b), (_, again_b, again_a) = (shares_of(topics, np.zeros(len(topics), np.int64), 5) for topics in (some, more))
    assert (a, b) == (again_a, again_b)
    of_one = shares_of(pa.array(["a"] * 10).dictionary_encode(), np.arange(10), 5)
    assert Counter(of_one.tolist()) == Counter(dict.fromkeys(range(5), 2))
