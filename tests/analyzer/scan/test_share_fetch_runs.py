"""What a member of a share group (KIP-932) brought, against the headers of record batches in the bytes that it got.

`share_member`: a producer and one member of a share group, which is killed after three seconds.
"""

import shutil
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import pyarrow.compute as pc
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).parents[3] / "fixtures" / "service" / "share_member.pcap.zst"
MEMBER = "10.77.0.103"
_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, two timestamps, producer id and epoch,
base sequence, number of records (Kafka's documentation, record batch)."""

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def streams_to_member(plain: Path) -> list[bytes]:
    """What brokers sent to the member on each connection: nothing was lost or came twice."""
    command = ["tshark", "-r", str(plain), "-T", "fields", "-Y", f"ip.dst == {MEMBER} && tcp.len > 0"]
    command += ["-e", "tcp.srcport", "-e", "ip.src", "-e", "tcp.dstport", "-e", "tcp.payload"]
    found: dict[tuple[str, ...], list[bytes]] = defaultdict(list)
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        *ends, payload = line.split("\t")
        found[tuple(ends)].append(bytes.fromhex(payload.replace(":", "")))
    return [b"".join(parts) for parts in found.values()]


def batches_in(stream: bytes) -> list[tuple[int, int]]:
    """First and last offset of what looks like the header of a record batch."""
    found = []
    for at in range(len(stream) - _HEADER.size):
        base, length, epoch, magic, _, attributes, delta, *_, n = _HEADER.unpack_from(stream, at)
        is_header = magic == 2 and 0 <= base < 1 << 20 and 0 <= epoch < 100 and 0 <= attributes < 8
        if is_header and 0 <= delta < 1000 and n == delta + 1 and 49 < length <= len(stream) - at:
            found.append((base, base + delta))
    return found


def test_runs_begin_and_end_with_the_records_that_came(tmp_path: Path) -> None:
    plain = tmp_path / "plain.pcap"
    plain.write_bytes(zstandard.ZstdDecompressor().stream_reader(CAPTURE.open("rb")).read())
    by_stream = [found for stream in streams_to_member(plain) if (found := batches_in(stream))]
    assert by_stream
    ingest([CAPTURE], tmp_path / "out.kscope", IngestOptions(jobs=1))
    events = Dataset.open(tmp_path / "out.kscope").read("events")
    rows = events.filter(pc.equal(events["kind"], "fetch_run")).to_pylist()
    runs = [row["fetch_run"] for row in rows if row["client_ip"] == MEMBER]
    assert sorted(run["partition"] for run in runs) == [0, 1]
    offsets = {offset for found in by_stream for offset in found}
    begins, ends = {first for first, _ in offsets}, {last for _, last in offsets}
    assert all(run["first_offset"] in begins and run["next_offset"] - 1 in ends for run in runs)
    assert max(run["next_offset"] for run in runs) - 1 == max(ends)
    assert min(run["first_offset"] for run in runs) == min(begins)
