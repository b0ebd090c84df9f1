"""The last accepted commit of each slice: by hand, and against plain Python whatever the batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, connections, context, events, no_messages, only, partitions, spilled

from kafkascope_analyzer.resolve.groups.commit_events import CommitEvents
from kafkascope_analyzer.scan.accepted_commits import ACCEPTED_COMMITS
from kafkascope_parsers.api_keys import FETCH, OFFSET_COMMIT, TXN_OFFSET_COMMIT

ROWS = connections({"client_ip": "10.0.0.1", "node_id": 1}, {"client_ip": "10.0.0.2"}, {})
SLICE_NS = 2_000_000_000
Accepted = tuple[int, int, str]


def source_of(spill: Path, *accepted: Accepted) -> CommitEvents:
    conn, number, group = zip(*accepted, strict=True) if accepted else ((), (), ())
    types = [("conn", pa.int64()), ("number", pa.int64()), ("group_id", pa.string())]
    columns = [pa.array(values, kind) for values, (_, kind) in zip((conn, number, group), types, strict=True)]
    tables = {ACCEPTED_COMMITS.replace(".", "__"): pa.table(columns, [name for name, _ in types])}
    return CommitEvents(context(ROWS, spilled(spill / "0", **tables), slice_ns=SLICE_NS))


def commit(number: int, at: int, offset: int | None, **more: object) -> Row:
    row: Row = {"number": number, "ts_ns": at, "partition_offset": offset, "topic": "t", "partition": 0}
    return row | more


def found(source: CommitEvents, *batches: list[Row]) -> list[tuple[Any, ...]]:
    for rows in batches:
        assert list(source.take_partitions(partitions(*rows), OFFSET_COMMIT, "request")) == []
    names = ("key", "client_ip", "conn_id", "group_id", "at_ns", "last_ns", "committed_offset")
    return only(events(source.finish(ROWS, no_messages)), *names)


def test_the_last_accepted_commit_of_a_slice(tmp_path: Path) -> None:
    """Request 9 was not accepted; the commits of one time are ordered by their requests."""
    source = source_of(tmp_path, (0, 3, "g"), (0, 4, "g"), (0, 5, "g"), (1, 3, "h"))
    rows = [commit(4, 5, 70), commit(3, 5, 90), commit(9, 6, 99), commit(5, SLICE_NS, 80), commit(3, 7, 1, conn=1)]
    assert sorted(found(source, rows)) == [
        ("t-0", "10.0.0.1", "c0", "g", 0, 5, 70),
        ("t-0", "10.0.0.1", "c0", "g", SLICE_NS, SLICE_NS, 80),
        ("t-0", "10.0.0.2", "c1", "h", 0, 7, 1),
    ]


def test_a_slice_says_its_length_and_the_node(tmp_path: Path) -> None:
    source = source_of(tmp_path, (0, 3, "g"))
    assert list(source.take_partitions(partitions(commit(3, 5, 1)), OFFSET_COMMIT, "request")) == []
    assert only(events(source.finish(ROWS, no_messages)), "slice_ms", "node_id") == [(2_000, 1)]


@pytest.mark.parametrize("offset", [-1, -(2**63), None])
def test_an_offset_below_zero_is_no_progress(tmp_path: Path, offset: int | None) -> None:
    assert found(source_of(tmp_path, (0, 3, "g")), [commit(3, 5, offset)]) == []


def test_offsets_and_partitions_of_any_size(tmp_path: Path) -> None:
    rows = [commit(3, 5, 2**63 - 1, partition=2**31 - 1), commit(3, 5, 0)]
    offsets = {row[0]: row[-1] for row in found(source_of(tmp_path, (0, 3, "g")), rows)}
    assert offsets == {"t-2147483647": 2**63 - 1, "t-0": 0}


def test_a_topic_without_a_name_is_left_out(tmp_path: Path) -> None:
    assert found(source_of(tmp_path, (0, 3, "g")), [commit(3, 5, 1, topic=None)]) == []


def test_commits_of_connections_with_accepted_ones_are_wanted(tmp_path: Path) -> None:
    source = source_of(tmp_path, (1, 3, "g"))
    for api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT):
        wanted = source.wants_partitions(api_key, "request")
        assert wanted is not None
        assert wanted.tolist() == [False, True, False]
    assert source.wants_partitions(OFFSET_COMMIT, "response") is None
    assert source.wants_partitions(FETCH, "request") is None


def test_without_accepted_commits_there_is_no_progress(tmp_path: Path) -> None:
    assert found(source_of(tmp_path), [commit(3, 5, 1)]) == []
    assert found(source_of(tmp_path), []) == []


@pytest.mark.parametrize("seed", range(3))
def test_commits_by_chance_whatever_the_batches(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    accepted = [(int(conn), n, str(rng.choice(["g", "h"]))) for n in range(60) for conn in (0, 1) if rng.random() < 0.7]
    group = {(conn, number): name for conn, number, name in accepted}
    rows = [
        commit(
            number,
            int(rng.integers(0, 3 * SLICE_NS)),
            int(rng.integers(0, 99)),
            conn=int(rng.integers(0, 2)),
            partition=int(rng.integers(0, 2)),
        )
        for number in range(60)
    ]
    expected: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in sorted(rows, key=lambda row: (row["ts_ns"], row["number"])):
        name = group.get((row["conn"], row["number"]))
        if name is not None:
            key = (f"t-{row['partition']}", f"c{row['conn']}", name, row["ts_ns"] // SLICE_NS * SLICE_NS)
            expected[key] = (row["ts_ns"], row["partition_offset"])
    mine = found(source_of(tmp_path, *accepted), *(rows[begin : begin + 17] for begin in range(0, 60, 17)))
    assert {(row[0], *row[2:5]): row[5:] for row in mine} == expected
    assert len(mine) == len(expected) > 8
