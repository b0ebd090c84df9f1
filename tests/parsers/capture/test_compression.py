"""Packed captures give their bytes, however they are read."""

import gzip
import io

import pytest
import zstandard

from kafkascope_parsers.capture import compression_of, decompressed
from kafkascope_parsers.errors import CaptureError

DATA = bytes(range(256)) * 400


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def unpack(packed, portion=1000):
    reader = decompressed(io.BytesIO(packed), compression_of(packed[:64]), "x")
    out, target = b"", bytearray(portion)
    while n := reader.readinto(memoryview(target)):
        assert n <= portion
        out += target[:n]
    return out


@pytest.mark.parametrize(
    ("packed", "kind"),
    [
        (DATA, "none"),
        (gzip.compress(DATA), "gzip"),
        (gzip.compress(DATA[:100]) + gzip.compress(DATA[100:]), "gzip"),
        (zstd(DATA), "zstd"),
        (zstd(DATA[:100]) + zstd(DATA[100:]), "zstd"),
        (b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(DATA), "zstd"),
    ],
)
def test_all_members_and_frames(packed, kind):
    assert compression_of(packed[:64]) == kind
    assert unpack(packed) == DATA


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_cut_file_gives_what_is_there(pack):
    packed = pack(bytes(range(256)) + DATA)
    assert DATA.startswith(unpack(packed[: len(packed) // 2])[256:])


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_corrupt_file_is_a_capture_error(pack):
    packed = bytearray(pack(DATA))
    packed[10:14] = b"\xff\xff\xff\xff"
    with pytest.raises(CaptureError, match=r"^x: (gzip|zstd) data is corrupt"):
        unpack(bytes(packed))


def test_empty_head():
    assert compression_of(b"") == "none"
