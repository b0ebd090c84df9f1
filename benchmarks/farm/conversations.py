"""The layer of conversations: requests and responses on TCP connections, their streams mutated, cut into segments, some
lost, in blocks: what framing makes of them has to add up to the bytes that it was given.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.farm.layer import FaultError
from benchmarks.farm.message_tree import sized
from benchmarks.farm.mutations import mutated
from benchmarks.farm.vectors import exchanges

from kafkascope_parsers.framing.framer import Framer
from kafkascope_parsers.framing.layout import WHOLE
from kafkascope_parsers.link.segments import Segments
from kafkascope_parsers.schema import API_VERSION_RANGE
from kafkascope_parsers.tcp.reader import TcpStreams

BLOCKS, CONNECTIONS, FRAMES = 4, 12, 12
Row = tuple[int, int, int, int, bytes, int]
"""(time, connection, side, sequence number, payload, flags)."""


class ConversationRounds:
    """A round: connections that run at the same time. An input is a frame; what is left out to make a round small is a
    connection."""

    def __init__(self, folder: Path) -> None:
        self._exchanges = exchanges()
        self._keys = list(self._exchanges)

    def warm_up(self) -> None:
        for seed in range(4):
            r = random.Random(seed)
            self.run(self.make(r), r)

    def make(self, r: random.Random) -> Sequence[list[Row]]:
        return [self.segments(r, number) for number in range(CONNECTIONS)]

    def run(self, inputs: Sequence[list[Row]], r: random.Random) -> None:
        rows = sorted((row for connection in inputs for row in connection), key=lambda row: row[0])
        tcp, framer = TcpStreams(), Framer(API_VERSION_RANGE, waiting_limit=r.choice((3, 100_000)))
        total, n_open = 0, 0
        for block in range(BLOCKS + 1):
            final = block == BLOCKS
            part = rows[block * len(rows) // BLOCKS : (block + 1) * len(rows) // BLOCKS]
            streams = tcp.finish() if final else tcp.push(*as_segments(part))
            framer.open_connections(tcp.connections["opened_by_syn"][len(framer.connections) :] != 0)
            counted, n_open, consumed = framed(framer, streams, n_open, r, final=final)
            tcp.keep_rest(streams, consumed)
            total += counted
        if total != int(tcp.sides["stream_bytes"].sum()):
            raise FaultError(f"framing books other bytes: {total} of {int(tcp.sides['stream_bytes'].sum())}")

    def smaller(self, one: list[Row]) -> Iterator[list[Row]]:
        return (one[:i] + one[i + 1 :] for i in range(len(one)))

    def write(self, inputs: Sequence[list[Row]], stem: Path) -> None:
        stem.with_suffix(".txt").write_text("".join(f"{rows!r}\n" for rows in inputs), encoding="ascii")

    def segments(self, r: random.Random, connection: int) -> list[Row]:
        """The rows of a conversation."""
        sent: list[tuple[int, bytes]] = []
        for number in range(FRAMES):
            requests, responses = self._exchanges[r.choice(self._keys)]
            ask, answer = r.choice(requests).raw, r.choice(responses).raw
            sent.append((0, sized(ask[:4] + number.to_bytes(4, "big") + ask[8:])))
            if r.random() < 0.9:
                sent.append((1, sized(number.to_bytes(4, "big") + answer[4:])))
        now, seq = r.randrange(50), [1000, 5000]
        rows: list[Row] = [(now, connection, 0, 999, b"", 2)] if r.random() < 0.7 else []
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


def as_segments(rows: list[Row]) -> tuple[Any, Any]:
    """The bytes and Segments of conversations' rows."""
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
        raise FaultError("a response answers a request that waits no more")
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
