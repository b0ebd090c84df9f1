"""Decompresses record batches with the codecs' own libraries, up to a limit.

gzip: RFC 1952 members. snappy: Java's SnappyOutputStream framing (xerial: 8 bytes of magic, two versions, blocks behind
their int32 lengths), or one raw block as librdkafka writes. lz4: frames; of magic 0 the frame header's checksum is
wrong by design (taken over the frame's magic too, Kafka's Lz4BlockInputStream) and is set right first. zstd: frames.
"""

import zlib
from dataclasses import dataclass

import pyarrow as pa
import zstandard

from kafkascope_parsers.errors import DecodeError

INFLATE_LIMIT = 32 << 20
"""Bytes that one batch may inflate to: Kafka's largest default request is 100 MiB, its default batch 1 MiB, and a bomb
of 1 MiB inflates to a gigabyte."""
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = 16
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_CONTENT_SIZE, _LZ4_DICTIONARY_ID = 8, 1


_PORTION = 4 << 10
"""Bytes that are passed to a member of gzip at a time: the rest after its end is copied, and members may be tiny."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a batch's records cannot be read. kind: one of unknown_codec, inflate_limit, malformed_compression,
    malformed_record. Results have this and not the exception, which would keep the variables of its stack frames, as
    inflated bytes."""

    kind: str
    detail: str

    def __str__(self) -> str:
        """As reports and tables write it."""
        return f"{self.kind}: {self.detail}"


class RecordsError(DecodeError):
    """A batch's records cannot be read; `why` has the reason."""

    def __init__(self, kind: str, detail: str) -> None:
        self.why = Unreadable(kind, detail)
        super().__init__(str(self.why))

    @property
    def kind(self) -> str:
        """That of `why`."""
        return self.why.kind


def inflate(codec: str, magic: int, data: bytes, limit: int = INFLATE_LIMIT) -> bytes:
    """The records of a batch (of a message of magic 0 or 1: its value). Raises RecordsError if they cannot be read, or
    have more than limit bytes."""
    try:
        if codec == "gzip":
            out = _gunzip(data, limit)
        elif codec == "snappy":
            out = _unsnap(data, limit)
        elif codec == "lz4":
            out = _unlz4(_with_right_checksum(data) if magic == 0 else data, limit)
        elif codec == "zstd":
            with zstandard.ZstdDecompressor(max_window_size=INFLATE_LIMIT).stream_reader(
                data, read_across_frames=True
            ) as f:
                out = f.read(limit + 1)
        else:
            raise RecordsError("unknown_codec", codec)
    except (zlib.error, OSError, pa.ArrowInvalid, zstandard.ZstdError) as e:
        raise RecordsError("malformed_compression", f"{codec}: {e}") from e
    if len(out) > limit:
        raise RecordsError("inflate_limit", f"{codec}: more than {limit} bytes")
    return out


def _gunzip(data: bytes, limit: int) -> bytes:
    out, at = bytearray(), 0
    member = zlib.decompressobj(wbits=31)
    while at < len(data) and len(out) <= limit:
        if member.eof:
            member = zlib.decompressobj(wbits=31)
        given = data[at : at + _PORTION]
        out += member.decompress(given, limit + 1 - len(out))
        at += len(given) - len(member.unconsumed_tail) - len(member.unused_data)
    if not member.eof and data and len(out) <= limit:
        raise RecordsError("malformed_compression", "gzip: the stream is cut")
    return bytes(out)


def _unsnap(data: bytes, limit: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _raw_snappy(data, limit)
    parts, at, left = [], _XERIAL_HEADER, limit
    while at < len(data):
        n = int.from_bytes(data[at : at + 4], "big", signed=True)
        at += 4
        if n <= 0 or n > len(data) - at:
            raise RecordsError("malformed_compression", "snappy: a block is longer than what is left")
        parts.append(_raw_snappy(data[at : at + n], left))
        left -= len(parts[-1])
        at += n
    return b"".join(parts)


def _raw_snappy(data: bytes, limit: int) -> bytes:
    """A block: its size as an unsigned varint of at most 5 bytes, then the rest."""
    size = 0
    for i, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            break
    else:
        raise RecordsError("malformed_compression", "snappy: no size")
    if size > limit:
        raise RecordsError("inflate_limit", f"snappy: more than {limit} bytes")
    return bytes(pa.Codec("snappy").decompress(data, size, asbytes=True))


def _unlz4(data: bytes, limit: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "lz4") as f:
        return bytes(f.read(limit + 1))


def _with_right_checksum(data: bytes) -> bytes:
    """The frame with the header checksum that LZ4's frame format asks for (1.6.2: second byte of xxh32 of the
    descriptor)."""
    if len(data) < 7 or not data.startswith(_LZ4_MAGIC):
        return data
    flags = data[4]
    end = 6 + (8 if flags & _LZ4_CONTENT_SIZE else 0) + (4 if flags & _LZ4_DICTIONARY_ID else 0)
    return data[:end] + bytes([_xxh32_of_few(data[4:end]) >> 8 & 0xFF]) + data[end + 1 :]


def _xxh32_of_few(data: bytes) -> int:
    """xxHash-32 with seed 0 of fewer than 16 bytes."""
    h = 374761393 + len(data)
    while len(data) >= 4:
        h = (h + int.from_bytes(data[:4], "little") * 3266489917) & 0xFFFFFFFF
        h = ((h << 17 | h >> 15) & 0xFFFFFFFF) * 668265263 & 0xFFFFFFFF
        data = data[4:]
    for byte in data:
        h = (h + byte * 374761393) & 0xFFFFFFFF
        h = ((h << 11 | h >> 21) & 0xFFFFFFFF) * 2654435761 & 0xFFFFFFFF
    h = (h ^ h >> 15) * 2246822519 & 0xFFFFFFFF
    h = (h ^ h >> 13) * 3266489917 & 0xFFFFFFFF
    return h ^ h >> 16
