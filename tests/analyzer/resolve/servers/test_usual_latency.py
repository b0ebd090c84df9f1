"""Usual latencies: against the median of plain Python, to an eighth of an octave."""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import MS, SECOND, Row, hosts_of, spilled_connections, spilled_requests

from kafkascope_analyzer.resolve.servers.hosts import NONE
from kafkascope_analyzer.resolve.servers.usual_latency import usual_latency_ns
from kafkascope_parsers.api_keys import FETCH, METADATA, PRODUCE
from kafkascope_parsers.framing.layout import HTTP

CONNECTIONS = ({}, {"server_ip": "10.0.0.2"}, {"protocol": HTTP, "server_port": 9999})
"""Connections of the second bucket."""


def usual(folder: Path, *rows: Row, asked: tuple[int, ...] = (0, 1)) -> np.ndarray[Any, Any]:
    """The usual latency of each API at the servers of connections 0 and 1. asked: connections whose servers are in
    question."""
    table = spilled_requests(*({"ts_ns": 0, "request_last_ns": SECOND} | row for row in rows))
    other = spilled_connections({"server_ip": "10.0.0.2"})
    hosts = hosts_of(folder, (other, {}), (spilled_connections(*CONNECTIONS), {"requests": table}))
    servers = hosts.server[1:]
    in_question = np.zeros(len(hosts.servers), np.bool_)
    in_question[servers[list(asked)]] = True
    assert servers[2] == NONE
    return usual_latency_ns(hosts, in_question)[servers[:2]]


def answer(latency_ns: int, api_key: int | None = METADATA, **more: object) -> Row:
    return {"api_key": api_key, "response_ns": SECOND + latency_ns} | more


def near(latency_ns: float) -> Any:
    """Within the class of a latency, which is an eighth of an octave wide."""
    return pytest.approx(latency_ns, rel=0.09, abs=1_000)


@pytest.mark.parametrize("seed", range(3))
def test_the_median_of_each_server_and_api(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        answer(int(rng.exponential(5 * MS)), int(rng.choice([METADATA, PRODUCE])), conn=int(rng.integers(0, 2)))
        for _ in range(300)
    ]
    found = usual(tmp_path, *rows)
    for conn in (0, 1):
        for api_key in (METADATA, PRODUCE):
            mine = [row["response_ns"] - SECOND for row in rows if (row["conn"], row["api_key"]) == (conn, api_key)]
            assert found[conn, api_key] == near(statistics.median_low(mine))
    assert np.count_nonzero(found) == 4


def test_what_the_request_allows_and_the_queue_do_not_count(tmp_path: Path) -> None:
    rows = [
        answer(530 * MS, FETCH, max_wait_ms=500),
        answer(40 * MS, PRODUCE, queued_ns=30 * MS),
        answer(20 * MS, METADATA, max_wait_ms=-(2**31)),
    ]
    found = usual(tmp_path, *rows)[0]
    assert (found[FETCH], found[PRODUCE], found[METADATA]) == (near(30 * MS), near(10 * MS), near(20 * MS))


@pytest.mark.parametrize(
    "row",
    [
        {"api_key": METADATA},
        answer(MS, None),
        answer(MS, 128),
        answer(MS, 2**15 - 1),
        answer(MS, -(2**15)),
        answer(MS, conn=2),
    ],
    ids=["unanswered", "no API", "beyond Kafka's", "the largest number", "the least number", "no server"],
)
def test_other_requests_do_not_count(tmp_path: Path, row: Row) -> None:
    assert not usual(tmp_path, row).any()


def test_a_response_before_what_the_request_allows_took_no_time(tmp_path: Path) -> None:
    found = usual(tmp_path, answer(3 * MS, FETCH, max_wait_ms=2**31 - 1))
    assert found[0, FETCH] == 1_000, "the least class"
    assert usual(tmp_path / "late", answer(2**62, FETCH))[0, FETCH] == near(2**62)


def test_only_the_servers_in_question_are_counted(tmp_path: Path) -> None:
    rows = [answer(MS, conn=0), answer(8 * MS, conn=1)]
    found = usual(tmp_path, *rows, asked=(1,))
    assert (found[0].any(), found[1, METADATA]) == (False, near(8 * MS))
    assert not usual(tmp_path / "none", *rows, asked=()).any()
