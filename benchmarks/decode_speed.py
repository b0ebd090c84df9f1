#!/usr/bin/env python3
"""Measures how many frames a second one core decodes into columns with every field, by the kernel that ingest uses.

    benchmarks/decode_speed.py                 all
    benchmarks/decode_speed.py Heartbeat       one API

Frames are the vectors' (fixtures/vectors), the smaller ones of each version, repeated to a buffer of some 100,000
frames; of Produce and Fetch with 16 kB of records in each, whose bytes are skipped, not copied. `decoded` is columns
for all fields; `Arrow` also makes the nested table out of them. The best of five runs, in processor time.
"""

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kafkascope_parsers.machine import decode_messages, to_arrow
from kafkascope_parsers.schema import message_type

VECTORS = Path(__file__).resolve().parent.parent / "fixtures" / "vectors" / "frames.jsonl.gz"
MESSAGES = [
    ("Heartbeat", 12, "request", None),
    ("Heartbeat", 12, "response", None),
    ("OffsetCommit", 8, "request", None),
    ("Metadata", 3, "response", None),
    ("Produce", 0, "request", "topic_data[].partition_data[].records"),
    ("Produce", 0, "response", None),
    ("Fetch", 1, "request", None),
    ("Fetch", 1, "response", "responses[].partitions[].records"),
]
SMALL_BYTES = 300
N_FRAMES = 100_000
RECORD_BYTES = 16_384
RUNS = 5


def small_frames(key: int, direction: str) -> list[tuple[int, bytes]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as f:
        found = [v for v in map(json.loads, f) if (v["api_key"], v["direction"]) == (key, direction)]
    frames = sorted(((v["version"], bytes.fromhex(v["frame_hex"])[4:]) for v in found), key=lambda frame: len(frame[1]))
    return [frame for frame in frames if len(frame[1]) <= SMALL_BYTES] or frames[:1]


def with_records(key: int, direction: str) -> list[tuple[int, bytes]]:
    """The newest version before compact lengths, one topic, one partition, RECORD_BYTES of records."""
    size = RECORD_BYTES.to_bytes(4, "big")
    records = size + bytes(RECORD_BYTES)
    if (key, direction) == (0, "request"):
        head = bytes.fromhex("0000000800000001000470726f64") + b"\xff\xff" + bytes.fromhex("000100007530")
        body = bytes.fromhex("0000000100066f72646572730000000100000003")
        return [(8, head + body + records)]
    head = bytes.fromhex("00000001" + "00000000" + "0000" + "00000000" + "0000000100066f726465727300000001")
    body = bytes(4) + bytes(2) + bytes(8 * 3) + bytes.fromhex("ffffffff" + "ffffffff")
    return [(11, head + body + records)]


def best_of(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(RUNS + 1):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times[1:])


def measure(name: str, key: int, direction: str, records: str | None) -> None:
    message = message_type(key, direction)
    assert message is not None
    kinds = with_records(key, direction) if records else small_frames(key, direction)
    n = N_FRAMES // 20 if records else N_FRAMES
    chosen = [kinds[i % len(kinds)] for i in range(n)]
    ends = np.cumsum([len(raw) for _, raw in chosen], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    buf = np.frombuffer(b"".join(raw for _, raw in chosen), np.uint8)
    versions = np.array([version for version, _ in chosen], np.int16)

    def decode() -> int:
        return sum(len(columns) for columns in decode_messages(message, buf, starts, ends, versions))

    def decode_to_arrow() -> int:
        return sum(to_arrow(columns).num_rows for columns in decode_messages(message, buf, starts, ends, versions))

    if decode() != n:
        raise SystemExit(f"{message.name}: not every frame decodes")
    columns, arrow = best_of(decode), best_of(decode_to_arrow)
    size = len(buf) / n
    print(
        f"{name} {direction:8}  {size:8.0f} bytes a frame  decoded {n / columns / 1e6:6.2f} M frames/s "
        f"({len(buf) / columns / 1e9:6.2f} GB/s)  with Arrow {n / arrow / 1e6:6.2f} M frames/s"
    )


def main() -> int:
    wanted = {name.casefold() for name in sys.argv[1:]}
    for name, key, direction, records in MESSAGES:
        if not wanted or name.casefold() in wanted:
            measure(name, key, direction, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
