"""Class 4. Compression: bombs, empty, cut, corrupt xerial header, lz4 with a bad checksum (and magic 0's
wrong-by-design one), nested magic 0/1 sets.

The codecs themselves are tested in tests/parsers/records; here such records pass through a whole run.
"""

import gzip
import struct

import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.record_detail import RecordDetail

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


def batch(codec, payload, count=1):
    body = struct.pack(">hiqqqhii", codec, count - 1, 0, 0, -1, -1, -1, count) + payload
    return struct.pack(">qiibI", 0, 9 + len(body), 0, 2, 0) + body


def old_set(magic, codec, value):
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", 0) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 0, 4 + len(body), 0) + body


BOMB = gzip.compress(bytes(64 << 20), 9)


@pytest.mark.parametrize(
    "records",
    [
        batch(GZIP, BOMB, 1000),
        batch(GZIP, b""),
        batch(GZIP, BOMB[:50]),
        batch(SNAPPY, b"\x82SNAPPY\0" + b"\xff" * 20),
        batch(LZ4, b"\x04\x22\x4d\x18\x64\x40\x00" + bytes(8)),
        batch(ZSTD, b"\x28\xb5\x2f\xfd" + b"\xff" * 10),
        old_set(0, LZ4, b"\x04\x22\x4d\x18\x60\x40\x82" + bytes(4)),
        old_set(1, GZIP, gzip.compress(old_set(1, GZIP, gzip.compress(old_set(1, 0, b"v"))))),
        old_set(0, GZIP, gzip.compress(old_set(0, 0, b"v"))),
    ],
    ids=["bomb", "empty", "cut", "xerial", "lz4 checksum", "zstd", "magic 0 lz4", "nested 1", "nested 0"],
)
def test_opened_or_said(w, tmp_path, records):
    c = w.Conversation().from_client(w.produce(1, 2 if records[16] < 2 else 7, 1, records)).from_client(w.metadata(2))
    capture = w.write_pcap(tmp_path / "crafted.pcap", c.packets)
    ingest([capture], tmp_path / "out.kscope", IngestOptions(detail=RecordDetail.RECORDS))
    found = w.Read(tmp_path / "out.kscope")
    assert found.requests == {1: "unanswered", 2: "unanswered"}
    assert len(found.table("record_batches")) >= 1
