"""Treats a capture and its packed copy in one folder (`kafka.pcap7` and `kafka.pcap7.zst`) as one capture: `tcpdump -z
zstd` leaves both.

Their first bytes decide whether one is a copy of the other, not their names: in the second lap of a ring of files, the
packed file is from the previous lap.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from kafkascope_analyzer.read.place import CapturePlace

COMPRESSED_SUFFIXES = frozenset({".gz", ".zst", ".lz4", ".xz", ".bz2"})
_COMPARED_BYTES = 1 << 16
"""Bytes that are compared: some hundreds of packets with their times."""


def without_packed_copies(captures: Sequence[CapturePlace]) -> list[CapturePlace]:
    """Returns the captures without those that are packed copies of another one. Unreadable files are kept, so that the
    error is reported when they are opened."""
    by_name: dict[str, list[CapturePlace]] = {}
    for capture in captures:
        by_name.setdefault(_unpacked_name(capture), []).append(capture)
    dropped = {copy for same_name in by_name.values() for copy in _copies(same_name)}
    return [capture for capture in captures if capture not in dropped]


def is_packed(name: str) -> bool:
    """Whether a file of that name is compressed."""
    return PurePosixPath(name).suffix.lower() in COMPRESSED_SUFFIXES


def _unpacked_name(capture: CapturePlace) -> str:
    whole = str(capture)
    return whole[: -len(PurePosixPath(whole).suffix)] if is_packed(whole) else whole


def _copies(captures: list[CapturePlace]) -> list[CapturePlace]:
    """Returns the captures that begin like an earlier one; the unpacked file comes first."""
    if len(captures) == 1:
        return []
    kept: list[bytes] = []
    copies: list[CapturePlace] = []
    for capture in sorted(captures, key=lambda one: is_packed(str(one))):
        begin = _begin(capture)
        if begin is not None and any(_is_beginning(begin, other) for other in kept):
            copies.append(capture)
        elif begin is not None:
            kept.append(begin)
    return copies


def _is_beginning(one: bytes, other: bytes) -> bool:
    """Whether one is the beginning of the other: a copy that is still being packed is shorter."""
    return other.startswith(one)


def _begin(capture: CapturePlace) -> bytes | None:
    # Imported only here, because it loads kernels, and `analyze` launches Spark's JVM before they are loaded.
    from kafkascope_analyzer.read.source import first_bytes

    try:
        return first_bytes(capture, _COMPARED_BYTES)
    except OSError:
        return None
