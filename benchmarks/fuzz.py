#!/usr/bin/env python3
"""Mutates Kafka's own messages and decodes them: no crash, hang, read out of bounds or growth may follow.

    benchmarks/fuzz.py                     1,000,000 mutated frames and record sets, a new seed each time
    benchmarks/fuzz.py --n 20000 --seed 7  a short run that can be repeated

What is mutated: the vectors in fixtures/vectors, every API, version and direction, and its record sets. How: bits
flipped, bytes cut, removed and put in, and the values that broke other decoders written over lengths and counts:
varints of 2^31-1, 2^32-1, 2^64-1, of more than 10 bytes and without end, endless empty tags; batch lengths and record
counts that are negative, 0, too small or wrap; string and array lengths that are negative or huge; compressed data
that is cut or changed; frames that are too short, TLS or HTTP. And whole conversations: streams of such frames, cut
into segments of any size, some lost, read block by block, for framing.

A child process decodes, under NUMBA_BOUNDSCHECK=1 with a cache of its own, so that a crash or a hang (killed by an
alarm) is its exit code. Its resident memory may grow by 64 MiB from when every message was decoded once. Every frame
must come out as a row or a failure, one in 200 the same as from the slow twin.
"""

import argparse
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "fixtures" / "vectors"
TWIN = ROOT / "tests" / "parsers" / "records" / "slow_headers.py"
GROWTH_LIMIT_BYTES = 64 << 20
ROUND_FRAMES = 250
ROUND_SECONDS = 60
TWIN_EVERY = 200
INFLATE_LIMIT = 4 << 20

FIXED = [
    n.to_bytes(width, "big", signed=True)
    for width, values in {
        2: (-(2**15), -2, -1, 0, 1, 32767),
        4: (-(2**31), -12, -2, -1, 0, 1, 13, 48, 60, 2**31 - 12, 2**31 - 1, 0x16030101, 0x47455420),
        8: (-(2**63), -1, 0, 2**63 - 1),
    }.items()
    for n in values
]
VARINTS = [
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff" * 9 + b"\x01",
    b"\x80" * 10 + b"\x01",
    b"\xff" * 12,
    b"\x80\x80",
    b"\x00",
    b"\x01",
    b"\x80\x08" + bytes(range(1, 200)),
]
FOREIGN = [b"", b"\0", bytes(4), bytes(7), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\n\r\n"]


def flip(r: random.Random, raw: bytearray) -> None:
    for _ in range(r.randint(1, 8)):
        raw[r.randrange(len(raw))] ^= 1 << r.randrange(8)


def cut(r: random.Random, raw: bytearray) -> None:
    del raw[r.randrange(len(raw)) :]


def remove(r: random.Random, raw: bytearray) -> None:
    at = r.randrange(len(raw))
    del raw[at : at + r.randint(1, 9)]


def put_in(r: random.Random, raw: bytearray) -> None:
    at = r.randrange(len(raw))
    raw[at:at] = r.choice([r.randbytes(r.randint(1, 9)), bytes(r.randint(1, 400)), r.choice(VARINTS)])


def overwrite(r: random.Random, raw: bytearray) -> None:
    value, at = r.choice(FIXED), r.randrange(len(raw))
    raw[at : at + len(value)] = value


def varint(r: random.Random, raw: bytearray) -> None:
    value, at = r.choice(VARINTS), r.randrange(len(raw))
    raw[at : at + r.choice((1, len(value)))] = value


def foreign(r: random.Random, raw: bytearray) -> None:
    raw[: r.randint(0, len(raw))] = r.choice(FOREIGN)


MUTATIONS: list[Callable[[random.Random, bytearray], None]] = [
    flip, flip, cut, remove, put_in, overwrite, overwrite, overwrite, varint, varint, foreign,
]  # fmt: skip


def mutated(r: random.Random, raw: bytes) -> bytes:
    out = bytearray(raw)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        if out:
            r.choice(MUTATIONS)(r, out)
    return bytes(out)


def load(name: str) -> list[dict[str, Any]]:
    with gzip.open(VECTORS / name, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def joined(raws: list[bytes]) -> tuple[Any, Any, Any]:
    import numpy as np

    ends = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    return np.frombuffer(b"".join(raws), np.uint8), starts, ends


class Frames:
    """The frames of all messages."""

    def __init__(self) -> None:
        from kafkascope_parsers.schema import message_type

        self.groups = defaultdict(list)
        for v in [*load("frames.jsonl.gz"), *load("former_layout.jsonl.gz")]:
            raw = bytes.fromhex(v["frame_hex"])[4:]
            self.groups[message_type(v["api_key"], v["direction"])].append((v["version"], raw))
        self.messages = list(self.groups)

    def warm_up(self) -> None:
        for message, frames in self.groups.items():
            self.decode(message, [raw for _, raw in frames], [version for version, _ in frames])

    def round(self, r: random.Random) -> int:
        message = r.choice(self.messages)
        chosen = r.choices(self.groups[message], k=ROUND_FRAMES)
        raws = [mutated(r, raw) for _, raw in chosen]
        versions = [version if r.random() < 0.98 else r.randint(-2, 20) for version, _ in chosen]
        answers = self.decode(message, raws, versions)
        if sorted(answers) != list(range(len(raws))):
            raise AssertionError(f"{message.name}: a frame is neither a row nor a failure")
        for i in range(r.randrange(TWIN_EVERY), len(raws), TWIN_EVERY):
            if message.fallback_version is None and answers[i] != self.by_twin(message, raws[i], versions[i]):
                raise AssertionError(f"{message.name} v{versions[i]}: the twin differs on {raws[i].hex()}")
        return len(raws)

    @staticmethod
    def decode(message: Any, raws: list[bytes], versions: list[int]) -> dict[int, Any]:
        import numpy as np

        from kafkascope_parsers.machine import decode_messages, to_arrow

        answers: dict[int, Any] = {}
        for columns in decode_messages(message, *joined(raws), np.array(versions, np.int16)):
            to_arrow(columns)
            answers |= dict.fromkeys(columns.frame.tolist(), "row")
            answers |= {f.frame: (f.kind, f.offset, f.path) for f in columns.failures}
        return answers

    @staticmethod
    def by_twin(message: Any, raw: bytes, version: int) -> Any:
        from kafkascope_parsers.schema.by_definition import MessageError, decode_by_definition

        try:
            decode_by_definition(message, raw, version)
        except MessageError as e:
            return e.kind, e.offset, e.path
        return "row"


class RecordSets:
    """Record sets: their batch headers by the kernels, one in four opened."""

    def __init__(self) -> None:
        self.raws = [bytes.fromhex(v["records_hex"]) for v in load("record_sets.jsonl.gz")]

    def warm_up(self) -> None:
        self.read(self.raws)
        self.open(self.raws)

    def round(self, r: random.Random) -> int:
        raws = [mutated(r, raw) for raw in r.choices(self.raws, k=ROUND_FRAMES)]
        self.read(raws)
        self.open(raws[::4])
        return len(raws)

    @staticmethod
    def read(raws: list[bytes]) -> None:
        import numpy as np

        from kafkascope_parsers.records import read_batches

        list_batches = run_path(str(TWIN))["list_batches"]
        buf, starts, ends = joined(raws)
        rows = read_batches(buf, starts, (ends - starts).astype(np.int32))
        for i, raw in enumerate(raws[::TWIN_EVERY]):
            mine = rows[rows["record_set"] == i * TWIN_EVERY]
            want = [(b.position + int(starts[i * TWIN_EVERY]), b.size, b.crc_valid) for b in list_batches(raw)]
            if [(int(b["position"]), int(b["size"]), bool(b["crc_valid"])) for b in mine] != want:
                raise AssertionError(f"the twin reads other batches in {raw.hex()}")

    @staticmethod
    def open(raws: list[bytes]) -> None:
        from kafkascope_parsers.records import open_record_set

        for raw in raws:
            open_record_set(raw, limit=INFLATE_LIMIT)


class Conversations:
    """Requests and responses on TCP connections, their streams mutated, cut into segments, some lost, in blocks: what
    framing makes of them has to add up to the bytes that it was given.
    """

    BLOCKS, CONNECTIONS, FRAMES = 4, 12, 12

    def __init__(self) -> None:
        self.frames: dict[str, dict[int, list[bytes]]] = {"request": {}, "response": {}}
        for v in load("frames.jsonl.gz"):
            raw = bytes.fromhex(v["frame_hex"])
            if len(raw) < 4000 and v["direction"] in self.frames:
                self.frames[v["direction"]].setdefault(v["api_key"], []).append(raw)
        self.keys = sorted(set(self.frames["request"]) & set(self.frames["response"]))

    def warm_up(self) -> None:
        for seed in range(4):
            self.round(random.Random(seed))

    def round(self, r: random.Random) -> int:
        from kafkascope_parsers.framing.framer import Framer
        from kafkascope_parsers.schema import API_VERSION_RANGE
        from kafkascope_parsers.tcp import TcpStreams

        rows = [row for c in range(self.CONNECTIONS) for row in self.segments(r, c)]
        rows.sort(key=lambda row: row[0])
        tcp, framer = TcpStreams(), Framer(API_VERSION_RANGE, waiting_limit=r.choice((3, 100_000)))
        total, n_open = 0, 0
        for block in range(self.BLOCKS + 1):
            final = block == self.BLOCKS
            part = rows[block * len(rows) // self.BLOCKS : (block + 1) * len(rows) // self.BLOCKS]
            streams = tcp.finish() if final else tcp.push(*as_segments(part))
            framer.open_connections(tcp.connections["opened_by_syn"][len(framer.connections) :] != 0)
            counted, n_open, consumed = framed(framer, streams, n_open, r, final=final)
            tcp.keep_rest(streams, consumed)
            total += counted
        if total != int(tcp.sides["stream_bytes"].sum()):
            raise AssertionError(f"framing booked {total} bytes of {int(tcp.sides['stream_bytes'].sum())}")
        return self.CONNECTIONS * self.FRAMES

    def segments(self, r: random.Random, connection: int) -> list[tuple[int, int, int, int, bytes, int]]:
        """(time, connection, side, sequence number, payload, flags) of a conversation."""
        sent: list[tuple[int, bytes]] = []
        for number in range(self.FRAMES):
            key = r.choice(self.keys)
            ask, answer = r.choice(self.frames["request"][key]), r.choice(self.frames["response"][key])
            sent.append((0, ask[:8] + number.to_bytes(4, "big") + ask[12:]))
            if r.random() < 0.9:
                sent.append((1, answer[:4] + number.to_bytes(4, "big") + answer[8:]))
        now, seq = r.randrange(50), [1000, 5000]
        rows = [(now, connection, 0, 999, b"", 2)] if r.random() < 0.7 else []
        for side, whole in sent:
            raw = mutated(r, whole) if r.random() < 0.1 else whole
            while raw:
                n = r.choice((1, 3, 8, 100, 1448, len(raw)))
                now += 10 + r.randrange(5)
                if r.random() > 0.02:
                    rows.append((now, connection, side, seq[side], raw[:n], 0x18))
                seq[side] += len(raw[:n])
                raw = raw[n:]
        return rows


def as_segments(rows: list[tuple[int, int, int, int, bytes, int]]) -> tuple[Any, Any]:
    """The bytes and Segments of conversations' rows."""
    import numpy as np

    from kafkascope_parsers.link.segments import Segments

    data = np.frombuffer(b"".join(row[4] for row in rows) or b"\0", np.uint8)
    sizes = np.array([len(row[4]) for row in rows], np.int32)
    ports = np.array([[40000 + row[1], 9092] for row in rows], np.uint16).reshape(-1, 2)
    side = np.array([row[2] for row in rows], np.int64)
    ends = np.array([[0, 1 + (row[2] ^ peer)] for row in rows for peer in (0, 1)], np.uint64).reshape(-1, 2, 2)
    at = np.arange(len(rows))
    segments = Segments(
        np.array([row[0] for row in rows], np.int64),
        at + 1,
        np.ascontiguousarray(ends[:, 0]),
        np.ascontiguousarray(ends[:, 1]),
        ports[at, side],
        ports[at, 1 - side],
        np.array([row[3] for row in rows], np.uint32),
        np.zeros(len(rows), np.uint32),
        np.array([row[5] for row in rows], np.uint8),
        np.full(len(rows), 64000, np.uint16),
        np.cumsum(sizes, dtype=np.int64) - sizes,
        sizes,
        sizes,
        np.zeros(len(rows), np.int32),
    )
    return data, segments


def framed(framer: Any, streams: Any, n_open: int, r: random.Random, *, final: bool) -> tuple[int, int, Any]:
    """Frames a block. Returns the bytes that were booked, how many requests are open after it, and how far each run
    was read.
    """
    import numpy as np

    from kafkascope_parsers.framing.layout import WHOLE

    requests = framer.requests(streams, final=final)
    silent = np.array([r.random() < 0.1 for _ in range(len(requests.frames))], np.bool_)
    responses, abandoned = framer.responses(streams, requests, silent, n_open, final=final)
    known = abandoned > 0
    answered = responses.frames["row"][responses.frames["row"] >= 0]
    if (
        known[answered].any()
        or len(np.unique(answered)) != len(answered)
        or silent[answered[answered >= n_open] - n_open].any()
    ):
        raise AssertionError("a response answers a request that waits no more")
    known[answered] = True
    known[n_open:] |= silent
    new_row = np.full(len(known), -1, np.int64)
    new_row[~known] = np.arange(int((~known).sum()))
    framer.keep_rows(new_row)
    booked = 0
    for cut in (requests, responses):
        whole = cut.frames[cut.frames["wholeness"] == WHOLE]
        booked += int((whole["end"] - whole["start"]).sum() + cut.stretches["length"].sum())
    return booked, int((~known).sum()), responses.consumed


def child(n: int, seed: int) -> None:
    """Decodes n mutated frames and record sets. Raises where one is not dealt with."""
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        raise SystemExit("the child needs NUMBA_BOUNDSCHECK=1")
    frames, record_sets, conversations = Frames(), RecordSets(), Conversations()
    frames.warm_up()
    record_sets.warm_up()
    conversations.warm_up()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    done = number = 0
    while done < n:
        r = random.Random(f"{seed} {number}")
        signal.alarm(ROUND_SECONDS)
        try:
            kind = {0: record_sets, 1: conversations, 2: conversations}.get(number % 12, frames)
            done += kind.round(r)
        except Exception as error:
            raise SystemExit(f"seed {seed}, round {number}: {type(error).__name__}: {error}") from error
        number += 1
    signal.alarm(0)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
    print(json.dumps({"mutated": done, "seed": seed, "growth_bytes": growth}))
    if growth > GROWTH_LIMIT_BYTES:
        raise SystemExit(f"seed {seed}: resident memory grew by {growth >> 20} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.n, args.seed)
        return 0
    cache = ROOT / "build" / "numba-boundscheck"
    cache.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--child", "--n", str(args.n), "--seed", str(args.seed)]
    status = subprocess.run(command, env=environment, check=False).returncode
    if status:
        print(f"fuzz: failed with {status}, seed {args.seed}", file=sys.stderr)
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
