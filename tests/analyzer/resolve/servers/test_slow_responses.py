"""Late responses that show a slow server: waits made by hand, in seconds; its responses usually take 10 ms."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import MS, SECOND, hosts_of, spilled_connections, spilled_requests

from kafkascope_analyzer.resolve.servers.slow_responses import with_slow_responses
from kafkascope_analyzer.resolve.servers.waits import REQUEST, Waits
from kafkascope_parsers.api_keys import METADATA
from kafkascope_parsers.tcp.spans import BY_DATA, BY_NOTHING, BY_RST, PAYLOAD

LAST_S = 60.0
"""The last packet of the servers."""
Wait = dict[str, Any]


def wait(conn: int, asked_s: float, until_s: float, **more: int) -> Wait:
    """A wait of a connection for a response that was due at once."""
    times = {"asked_ns": int(asked_s * SECOND), "due_ns": int(asked_s * SECOND), "until_ns": int(until_s * SECOND)}
    known = {"layer": REQUEST, "ended_by": BY_DATA, "is_proof": 1, "is_new": 0, "api_key": METADATA}
    return {"conn": conn} | times | known | more


def pending(conn: int, asked_s: float, **more: int) -> Wait:
    return wait(conn, asked_s, 0, ended_by=BY_NOTHING) | more


def slow(folder: Path, *rows: Wait) -> list[bool]:
    """Which waits are slow. Connections 0 and 1 are to one server, 2 and 3 to another."""
    connections = spilled_connections({}, {}, {"server_ip": "10.0.0.2"}, {"server_ip": "10.0.0.2"})
    usual = [{"conn": c, "api_key": METADATA, "request_last_ns": 0, "response_ns": 10 * MS} for c in (0, 2)]
    hosts = hosts_of(folder, (connections, {"requests": spilled_requests(*usual)}))
    columns = {each.name: np.array([row.get(each.name, 0) for row in rows], np.int64) for each in fields(Waits)}
    columns["server"] = hosts.server[columns["conn"]]
    last_ns = np.full(len(hosts.servers), int(LAST_S * SECOND))
    return [bool(each) for each in with_slow_responses(Waits(**columns), hosts, last_ns).is_slow.tolist()]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (wait(0, 10, 11), wait(1, 12, 13), True),
        (wait(0, 10, 11), wait(1, 13, 14), True),
        (wait(0, 10, 11), wait(1, 13.01, 14), False),
        (wait(0, 10, 11), wait(0, 12, 13), False),
        (wait(0, 10, 11), wait(2, 10, 11), False),
        (wait(0, 10, 11, is_new=1), wait(1, 10, 11), False),
        (wait(0, 10, 11, is_proof=0), wait(1, 10, 11), False),
        (wait(0, 10, 11, layer=PAYLOAD), wait(1, 10, 11), False),
        (wait(0, 10, 11, ended_by=BY_RST), wait(1, 10, 11), False),
        (pending(0, 58), pending(1, 58), True),
        (pending(0, 58), wait(1, 58, 59), True),
        (pending(0, 58.01), pending(1, 58.01), False),
    ],
    ids=[
        "at about the same time",
        "within two seconds",
        "later",
        "on one connection",
        "of two servers",
        "one on a new connection",
        "one that needs others",
        "one is no response",
        "one ended by a reset",
        "open when the capture ends",
        "one of them open",
        "just asked",
    ],
)
def test_two_connections_have_to_agree(tmp_path: Path, first: Wait, second: Wait, expected: bool) -> None:
    assert slow(tmp_path, first, second) == [expected, expected]


def test_ten_times_the_usual_latency_is_slow(tmp_path: Path) -> None:
    """Usual latencies are known to an eighth of an octave."""
    waits = [wait(0, 10, 10.11), wait(1, 10, 10.08), wait(0, 10, 10.2)]
    assert slow(tmp_path, *waits) == [True, False, True]


def test_for_a_slow_server_all_late_responses_count(tmp_path: Path) -> None:
    """Also those that show nothing by themselves, at any time; but not those of the other server."""
    proofs = [wait(0, 10, 11), wait(1, 10, 11)]
    others = [wait(0, 40, 41, is_proof=0), wait(1, 50, 51, is_new=1), pending(0, 30, is_proof=0)]
    not_late = [wait(0, 40, 40.01, is_proof=0), wait(2, 40, 41, is_proof=0)]
    alone = wait(0, 45, 46)
    assert slow(tmp_path, *proofs, *others, *not_late, alone) == [True] * 5 + [False] * 3


def test_no_waits_are_not_slow(tmp_path: Path) -> None:
    assert slow(tmp_path) == []
    assert slow(tmp_path / "one", wait(0, 10, 20)) == [False]
