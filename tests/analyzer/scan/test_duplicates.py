"""A capture whose packets are all shown twice gives the dataset of the capture itself."""

import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.source import iter_blocks

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
ETHERTYPE, TTL, IP_CHECKSUM = 12, 22, slice(24, 26)
VXLAN_OUTER = bytes.fromhex("020000000009 020000000008 0800")
VXLAN_HEADER = bytes.fromhex("0800000000000300")


def behind_a_router(frame):
    """The frame with one hop less to live, whose IP checksum was left to the card."""
    routed = bytearray(frame)
    if frame[ETHERTYPE : ETHERTYPE + 2] == b"\x08\x00":
        routed[TTL] -= 1
        routed[IP_CHECKSUM] = b"\0\0"
    return bytes(routed)


def in_vxlan(frame):
    udp = struct.pack("!HHHH", 4444, 4789, 8 + 8 + len(frame), 0)
    total = 20 + len(udp) + len(VXLAN_HEADER) + len(frame)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, total, 1, 0, 64, 17, 0, b"\x09\x09\x09\x09", b"\x08\x08\x08\x08")
    return VXLAN_OUTER + ip + udp + VXLAN_HEADER + frame


def shown_twice(target, other):
    """Writes the capture with each packet followed by its other view, 9 us later at most."""
    blocks = [(block.buf.copy(), block.packets) for block in iter_blocks(CAPTURE)]
    rows = []
    for buf, p in blocks:
        for ts, at, n in zip(p.ts_ns.tolist(), p.offset.tolist(), p.caplen.tolist(), strict=True):
            rows.append((ts, bytes(buf[at : at + n])))
    with target.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for ts, frame in rows:
            for delay, view in ((0, frame), (9000, other(frame))):
                file.write(struct.pack("<IIII", *divmod(ts + delay, 10**9), len(view), len(view)) + view)
    return len(rows)


def tables(dataset):
    """All tables, rows in one order, packet numbers as in the capture where each packet is there once."""
    found = {}
    for path in sorted({path.parent for path in dataset.rglob("*.parquet")}):
        if path.name != "captures":
            found[str(path.relative_to(dataset))] = pq.read_table(path)
    return found


def with_numbers_halved(table):
    for i, field in enumerate(table.schema):
        if "packet" in field.name and pa.types.is_integer(field.type):
            halved = [None if no is None else (no + 1) // 2 for no in table[field.name].to_pylist()]
            table = table.set_column(i, field, pa.array(halved, field.type))
    return table


@pytest.fixture(scope="module")
def once(ingested):
    out = ingested(CAPTURE)
    return tables(out), json.loads((out / "_dataset.json").read_text())["ledger"]


@pytest.mark.parametrize("other", [behind_a_router, in_vxlan])
def test_shown_twice_is_counted_once(tmp_path, once, other):
    n_packets = shown_twice(tmp_path / "twice.pcap", other)
    ingest([tmp_path / "twice.pcap"], tmp_path / "out.kscope")
    wanted, ledger = once
    found = tables(tmp_path / "out.kscope")
    assert found.keys() == wanted.keys()
    for name, table in wanted.items():
        assert with_numbers_halved(found[name]).equals(table), name
    manifest = json.loads((tmp_path / "out.kscope" / "_dataset.json").read_text())
    assert manifest["ledger"] == ledger
    (capture,) = pq.read_table(tmp_path / "out.kscope" / "captures").to_pylist()
    assert capture["n_packets"] == 2 * n_packets
    assert n_packets - capture["n_not_tcp"] // 2 == capture["n_duplicates"] > 8000
