"""Events of the kind silence of a real capture, against the payload-carrying packets that tshark lists.

In `paused_clients` the processes of two consumers stall for 8 s; a third one works.
"""

import csv
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.resolve.servers.client_silences import MOST_OVERDUE, _overdue

CAPTURE = Path(__file__).parents[4] / "fixtures" / "service" / "paused_clients.pcap.zst"
S = 1_000_000_000
Row = dict[str, Any]


@pytest.fixture(scope="module")
def silences(ingested: Callable[..., Path]) -> list[Row]:
    out = ingested(CAPTURE)
    events = Dataset.open(out).read("events")
    connections = pq.read_table(out / "connections").to_pylist()
    ports = {row["conn_id"]: row["client_port"] for row in connections}
    rows = events.filter(pc.equal(events["kind"], "silence")).to_pylist()
    return [row["silence"] | {"client_ip": row["client_ip"], "port": ports[row["conn_id"]]} for row in rows]


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """(client's address and port) -> (packet number, bytes of payload) of what the client sent, as tshark lists it."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    plain = tmp_path_factory.mktemp("packets") / "plain.pcap"
    plain.write_bytes(zstandard.ZstdDecompressor().stream_reader(CAPTURE.open("rb")).read())
    command = ["tshark", "-r", str(plain), "-T", "fields", "-Y", "tcp.dstport == 9092"]
    for name in ("ip.src", "tcp.srcport", "frame.number", "tcp.len"):
        command += ["-e", name]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for ip, port, number, length in csv.reader(lines, delimiter="\t"):
        found[ip, int(port)].append((int(number), int(length)))
    return found


def test_no_payload_of_the_client_is_inside_a_silence(
    silences: list[Row], packets: dict[tuple[str, int], list[tuple[int, int]]]
) -> None:
    assert len(silences) > 8
    for row in silences:
        payload = [number for number, length in packets[row["client_ip"], row["port"]] if length]
        last = row["last_packet_no"] or 1 << 60
        assert row["first_packet_no"] in payload
        assert not [number for number in payload if row["first_packet_no"] < number < last]
        if row["ended_by"] == "data":
            assert last in payload


def test_the_stopped_processes_were_silent_on_all_their_connections(silences: list[Row]) -> None:
    """They are stopped 8.16 s after the capture's first packet, and continued 8 s later."""
    stopped, continued = 1795347534297488697, 1795347542297857787
    during = [row for row in silences if row["first_ns"] <= stopped and (row["last_ns"] or continued) >= continued]
    assert {row["client_ip"] for row in during} == {"10.77.0.101", "10.77.0.104"}
    assert all(row["acknowledged"] for row in during)
    at_once = [row for row in during if row["last_ns"] is not None and row["last_ns"] - continued < S // 5]
    assert len(at_once) >= 7
    assert {row["ended_by"] for row in at_once} == {"data", "fin"}
    assert all(row["request_id"] and row["api_key"] is not None for row in at_once)


def test_only_what_is_unusual_for_its_connection_is_overdue() -> None:
    """Connection 1 has a heartbeat every 3 s, and one after 8 s; connection 2 is no member's; connection 3 is silent
    more often than is kept: the longest ones are."""
    conn = np.array([1] * 10 + [2] * 2 + [3] * 200)
    length = np.array([3] * 9 + [8] + [3, 50] + [1] * 100 + list(range(101, 201))) * S
    first = np.arange(len(conn)) * 1_000 * S
    rows, due = _overdue(conn, first, first + length, conn != 2)
    assert rows[conn[rows] == 1].tolist() == [9]
    assert due[conn[rows] == 1].tolist() == [first[9] + int(5.5 * S)]
    assert sorted(length[rows[conn[rows] == 3]] // S) == list(range(201 - MOST_OVERDUE, 201))
