"""Bytes that are changed blindly: bits flipped, bytes cut, removed and put in, and the values that broke other decoders
written over lengths and counts: varints of 2^31-1, 2^32-1, 2^64-1, of more than 10 bytes and without end, endless empty
tags; lengths that are negative, 0, too small or wrap; frames that are too short, TLS or HTTP.
"""

import random
from collections.abc import Callable

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
