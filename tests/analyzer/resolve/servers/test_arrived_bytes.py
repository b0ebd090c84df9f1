"""The longest frame that arrived at once in each span of time: by hand, and against plain Python."""

from pathlib import Path

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import MS, SECOND, Row, hosts_of, spilled_connections, spilled_requests

from kafkascope_analyzer.resolve.servers.arrived_bytes import LEAST_ARRIVED, PROMPT_NS, most_arrived
from kafkascope_parsers.framing.layout import HTTP

CONNECTIONS = ({}, {"client_ip": "10.0.0.8"}, {"protocol": HTTP, "server_port": 80})
Span = tuple[int, int, int, int]
"""Connection, whether it is of frames of the server, first and last time."""


def longest(folder: Path, spans: list[Span], *rows: Row) -> list[int]:
    bucket = (spilled_connections(*CONNECTIONS), {"requests": spilled_requests(*rows)})
    hosts = hosts_of(folder, (spilled_connections({"server_ip": "10.0.0.2"}), {}), bucket)
    columns = zip(*spans, strict=True) if spans else [()] * 4
    conn, by_server, first, last = (np.array(each, np.int64) for each in columns)
    return [int(n) for n in most_arrived(hosts, 2 * hosts.pair[1 + conn] + by_server, first, last)]


def exchange(at: int, took: int | None = MS, **more: object) -> Row:
    """A request of 100 bytes and its response of 200."""
    answered = None if took is None else at + took
    return {"ts_ns": at, "response_ns": answered, "request_bytes": 100, "response_bytes": 200} | more


def several(n: int, **more: object) -> list[Row]:
    return [exchange(10 * MS * k) | more for k in range(n)]


WHOLE = [(0, 0, -1, 9 * SECOND), (0, 1, -1, 9 * SECOND)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (several(LEAST_ARRIVED + 1), [100, 200]),
        (several(LEAST_ARRIVED), [100, 0]),
        (several(LEAST_ARRIVED - 1), [0, 0]),
        ([exchange(2 * SECOND * k, PROMPT_NS) for k in range(4)], [100, 200]),
        ([exchange(2 * SECOND * k, PROMPT_NS + 1) for k in range(4)], [0, 200]),
        ([exchange((2 * SECOND + MS) * k) for k in range(4)], [100, 0]),
        ([exchange(10 * MS * k, 11 * MS) for k in range(5)], [100, 0]),
        ([exchange(10 * MS * k, None) for k in range(5)], [0, 0]),
        (several(9, conn=2), [0, 0]),
        (several(9, conn=1), [0, 0]),
        ([], [0, 0]),
    ],
    ids=[
        "enough of both",
        "the last response has no next request",
        "too few",
        "answered within a second",
        "answered later",
        "the next request comes later",
        "the next request comes before the response",
        "unanswered",
        "no server",
        "another host",
        "nothing",
    ],
)
def test_a_frame_that_the_other_side_reacts_to_at_once_has_arrived(
    tmp_path: Path, rows: list[Row], expected: list[int]
) -> None:
    assert longest(tmp_path, WHOLE, *rows) == expected


def test_the_longest_frame_counts(tmp_path: Path) -> None:
    rows = several(6)
    rows[2] |= {"request_bytes": 2**62, "response_bytes": 7}
    rows[4] |= {"request_bytes": -(2**63), "response_bytes": 2**40}
    assert longest(tmp_path, WHOLE, *rows) == [2**62, 2**40]


def test_only_frames_between_the_ends_of_a_span_count(tmp_path: Path) -> None:
    """The frames at the ends are those that were lost."""
    rows = several(9)
    for n, row in enumerate(rows):
        row["request_bytes"] = n
    spans = [(0, 0, 40 * MS, 80 * MS), (0, 0, 0, 40 * MS), (0, 0, 80 * MS, 9 * SECOND)]
    assert longest(tmp_path, spans, *rows) == [7, 3, 0]


def test_no_spans_have_no_frames(tmp_path: Path) -> None:
    assert longest(tmp_path, [], *several(9)) == []


@pytest.mark.parametrize("seed", range(3))
def test_frames_by_chance(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        exchange(int(at), int(rng.choice([MS, 2 * SECOND])), conn=int(rng.integers(0, 2)), request_bytes=int(size))
        for at, size in zip(np.sort(rng.integers(0, 60 * SECOND, 80)), rng.permutation(80), strict=True)
    ]
    spans = [(conn, 0, k * 10 * SECOND, (k + 1) * 10 * SECOND) for conn in (0, 1) for k in range(6)]
    expected = []
    for conn, _, first, last in spans:
        mine = [
            row["request_bytes"]
            for row in rows
            if row["conn"] == conn and first < row["ts_ns"] < last and row["response_ns"] - row["ts_ns"] <= PROMPT_NS
        ]
        expected.append(max(mine) if len(mine) >= LEAST_ARRIVED else 0)
    assert longest(tmp_path, spans, *rows) == expected
    assert any(expected)
