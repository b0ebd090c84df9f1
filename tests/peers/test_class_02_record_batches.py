"""Class 2. Record batches: length that wraps 32 bits, is negative, 0, under 49, beyond the set; record count -1, 0,
2^31-1; negative key, value, header lengths. The offset always advances.
"""

import struct

import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.record_detail import RecordDetail


def batch(length, count, records=b""):
    """A batch of magic 2 that says it has that length and count (its CRC is wrong)."""
    head = struct.pack(">qiibI", 0, length, 0, 2, 0) + struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, count)
    return head + records


@pytest.mark.parametrize("length", [2**31 - 1, 2**31 - 12, -1, -(2**31), 0, 12, 48, 60])
def test_lengths(w, read, length):
    c = w.Conversation().from_client(w.produce(1, 7, 1, batch(length, 1, bytes(20)))).from_client(w.metadata(2))
    found = read(c)
    assert found.requests == {1: "unanswered", 2: "unanswered"}
    assert [(row["topic"], row["partition"]) for row in found.table("partitions")] == [("t", 0)]


@pytest.mark.parametrize("count", [-1, 0, 2**31 - 1])
def test_record_counts(w, read, count):
    records = b"\x12\0\0\0\x01\x01\x01" + bytes(13)
    c = (
        w.Conversation()
        .from_client(w.produce(1, 7, 1, batch(49 + len(records), count, records)))
        .from_client(w.metadata(2))
    )
    assert read(c).requests == {1: "unanswered", 2: "unanswered"}


@pytest.mark.parametrize(
    "record", [b"\x0e\0\0\0\x03\x01\0", b"\x0e\0\0\0\x01\x03\0", b"\x0e\0\0\0\x01\x01\x02\x03\x01"]
)
def test_negative_key_value_and_header_lengths(w, tmp_path, record):
    raw = batch(49 + len(record), 1, record)
    c = w.Conversation().from_client(w.produce(1, 7, 1, raw)).from_client(w.metadata(2))
    capture = w.write_pcap(tmp_path / "crafted.pcap", c.packets)
    ingest([capture], tmp_path / "out.kscope", IngestOptions(detail=RecordDetail.RECORDS))
    assert w.Read(tmp_path / "out.kscope").requests == {1: "unanswered", 2: "unanswered"}
