"""Responses that the capture lost: the broker sent them, as it went on to respond."""

import struct
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.source import iter_blocks

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"


def requests_of(dataset):
    table = ds.dataset(dataset / "requests", format="parquet", partitioning="hive").to_table()
    return {(row["conn_id"], row["correlation_id"]): row for row in table.to_pylist()}


def without(target, packets):
    """Writes the capture without these packets."""
    with target.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        number = 0
        for block in iter_blocks(CAPTURE):
            p = block.packets
            for ts, at, n in zip(p.ts_ns.tolist(), p.offset.tolist(), p.caplen.tolist(), strict=True):
                number += 1
                if number not in packets:
                    file.write(struct.pack("<IIII", *divmod(ts, 10**9), n, n) + bytes(block.buf[at : at + n]))


@pytest.fixture(scope="module")
def whole(ingested):
    return requests_of(ingested(CAPTURE))


def alone_in_flight(whole):
    """Requests that were answered before the next one of their connection, in order of time, by connection."""
    found = {}
    for key, row in sorted(whole.items(), key=lambda item: item[1]["ts_ns"]):
        if row["status"] == "ok" and row["in_flight"] == 1 and row["response_ns"] == row["response_last_ns"]:
            found.setdefault(key[0], []).append(row)
    return found


@pytest.mark.parametrize("n_lost", [1, 3])
def test_what_precedes_an_answered_request_was_answered(tmp_path, whole, n_lost):
    connection = max(alone_in_flight(whole).values(), key=len)
    lost = connection[len(connection) // 2 :][:n_lost]
    without(tmp_path / "gap.pcap", {row["response_packet_no"] for row in lost})
    ingest([tmp_path / "gap.pcap"], tmp_path / "out.kscope")
    found = requests_of(tmp_path / "out.kscope")
    changed = {key: row["status"] for key, row in found.items() if row["status"] != whole[key]["status"]}
    assert changed == {(row["conn_id"], row["correlation_id"]): "not_captured" for row in lost}
    assert all(found[key]["response_ns"] is None for key in changed)


def test_what_nothing_answered_follows_is_unanswered(tmp_path, whole):
    """The capture shows neither a gap nor an answer after the last request: it cannot tell."""
    last = max(alone_in_flight(whole).values(), key=len)[-1]
    later = [r for r in whole.values() if r["conn_id"] == last["conn_id"] and r["ts_ns"] >= last["ts_ns"]]
    without(tmp_path / "end.pcap", {row["response_packet_no"] for row in later})
    ingest([tmp_path / "end.pcap"], tmp_path / "out.kscope")
    found = requests_of(tmp_path / "out.kscope")
    assert {found[row["conn_id"], row["correlation_id"]]["status"] for row in later} == {"unanswered"}
