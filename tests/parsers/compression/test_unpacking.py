"""Packed captures give their bytes, however they are read. Packed by the standard library and the libraries' own
compressors, and by the command-line programs where they are there.
"""

import bz2
import gzip
import io
import lzma
import random
import shutil
import subprocess

import lz4.frame
import pytest
import zstandard

from kafkascope_parsers.compression import compression_of, decompressed
from kafkascope_parsers.compression.zstd_frames import ZstdFrames

DATA = bytes(range(256)) * 400
NOISE = random.Random(1).randbytes(700_000)
"""Does not get smaller, so that a file cut in its middle holds some of it."""


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


PACKERS = {"gzip": gzip.compress, "zstd": zstd, "lz4": lz4.frame.compress, "xz": lzma.compress, "bzip2": bz2.compress}
SKIPPABLE = b"\x50\x2a\x4d\x18\x03\0\0\0abc"


def unpack(packed, portion=1000):
    """The unpacked bytes, and why they end early."""
    reader = decompressed(io.BytesIO(packed), compression_of(packed[:64]))
    out, target = bytearray(), bytearray(portion)
    while n := reader.readinto(memoryview(target)):
        assert n <= portion
        assert reader.problem is None
        out += target[:n]
    assert not reader.readinto(memoryview(target))
    return bytes(out), reader.problem


@pytest.mark.parametrize("portion", [1000, 1 << 22])
@pytest.mark.parametrize("kind", PACKERS)
def test_all_members_and_frames(kind, portion):
    pack = PACKERS[kind]
    for packed in (pack(DATA), pack(DATA[:100]) + pack(b"") + pack(DATA[100:])):
        assert compression_of(packed[:64]) == kind
        assert unpack(packed, portion) == (DATA, None)
    assert unpack(pack(NOISE), portion) == (NOISE, None)


def test_uncompressed():
    assert compression_of(DATA[:64]) == "none"
    assert unpack(DATA) == (DATA, None)
    assert compression_of(b"") == "none"


@pytest.mark.parametrize(
    "packed",
    [
        SKIPPABLE + zstd(DATA) + SKIPPABLE,
        zstd(DATA, write_content_size=False, write_checksum=True),
        zstandard.ZstdCompressor(write_checksum=True).compressobj().compress(b"") + zstd(DATA),
        zstd(bytes(5)) + zstd(DATA),
        lz4.frame.compress(DATA) + SKIPPABLE,
        lz4.frame.compress(DATA, content_checksum=True, block_checksum=True, block_linked=False),
        gzip.compress(DATA) + bytes(1000),
        lzma.compress(DATA) + bytes(8),
        lzma.compress(DATA, check=lzma.CHECK_CRC32),
    ],
)
def test_frames_and_padding_of_every_kind(packed):
    data, problem = unpack(packed)
    assert data.lstrip(b"\0").endswith(DATA[1:])
    assert problem is None


def test_a_frame_of_zeros_in_runs_is_whole():
    assert unpack(zstd(bytes(1 << 20)), 1 << 16) == (bytes(1 << 20), None)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("portion", [1000, 1 << 22])
def test_a_cut_file_gives_what_is_there_and_says_so(kind, portion):
    packed = PACKERS[kind](NOISE)
    for n_cut in (1, 3, len(packed) // 10):
        data, problem = unpack(packed[:-n_cut], portion)
        assert NOISE.startswith(data)
        assert len(data) > len(NOISE) - n_cut - (900_000 if kind == "bzip2" else 140_000)
        assert problem == f"the {kind} data ends before its end: it is still being written, or was cut"
    data, problem = unpack(PACKERS[kind](DATA) + packed[: len(packed) // 2])
    assert data.startswith(DATA)
    assert problem is not None


@pytest.mark.parametrize("kind", PACKERS)
def test_a_corrupt_file_gives_what_comes_before(kind):
    good, bad = PACKERS[kind](DATA), bytearray(PACKERS[kind](NOISE))
    bad[6:40] = b"\xff" * 34
    padding = PACKERS[kind](b"")
    data, problem = unpack(good + padding * (200_000 // len(padding)) + bytes(bad))
    assert data.startswith(DATA)
    assert problem is not None
    assert problem.startswith(f"the {kind} data is corrupt (")


def test_what_follows_is_told_from_a_further_member():
    assert unpack(gzip.compress(DATA) + b"something else") == (DATA, "what follows the gzip data is something else")


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_is_given_in_portions(kind):
    packed = PACKERS[kind](bytes(8 << 20))
    reader = decompressed(io.BytesIO(packed), kind)
    target = bytearray(1 << 16)
    assert all(0 < reader.readinto(memoryview(target)) <= 1 << 16 for _ in range(100))


def test_zstd_frames_are_followed_in_portions_of_any_size():
    packed = SKIPPABLE + zstd(DATA) + zstd(NOISE, write_checksum=True) + zstd(b"") + zstd(bytes(300_000))
    ends = {0}
    for part in (SKIPPABLE, zstd(DATA), zstd(NOISE, write_checksum=True), zstd(b""), zstd(bytes(300_000))):
        ends.add(max(ends) + len(part))
    for portion in (1, 7, 4096):
        frames = ZstdFrames(io.BytesIO(packed))
        at = 0
        while data := frames.read(portion):
            at += len(data)
            assert frames.ended_whole == (at in ends)
        assert at == len(packed)


@pytest.mark.parametrize(
    "command", [["gzip", "-9"], ["zstd", "-19"], ["zstd", "--long=27"], ["lz4", "-9"], ["lz4", "-BD"], ["xz", "-0"]]
)
def test_what_the_programs_write(command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    packed = subprocess.run([*command, "-c"], input=NOISE, capture_output=True, check=True).stdout
    assert compression_of(packed[:64]) == command[0]
    assert unpack(packed, 1 << 20) == (NOISE, None)
