"""Estimates the unpacked size of captures. Loads no kernels: `analyze` launches Spark's JVM by this size before it
loads them."""

from kafkascope_analyzer.read.place import CapturePlace, ReadableFile
from kafkascope_parsers.compression import LONGEST_MAGIC, compression_of
from kafkascope_parsers.errors import CaptureError

PACKED_TO = 6
"""Estimated unpacked bytes per byte of a compressed capture."""


def unpacked_bytes(place: CapturePlace) -> int:
    """Returns about how many bytes a file has after decompression. Raises CaptureError when it cannot be read."""
    try:
        with place.open() as file:
            packed = compression_of(_first_bytes(file)) != "none"
        return place.size_bytes() * (PACKED_TO if packed else 1)
    except OSError as error:
        raise CaptureError(error.strerror or str(error), name=str(place)) from error


def _first_bytes(file: ReadableFile) -> bytes:
    """Returns the first LONGEST_MAGIC bytes of a file, by which compressions are recognised; fewer for a
    shorter file."""
    head = b""
    while len(head) < LONGEST_MAGIC and (more := file.read(LONGEST_MAGIC - len(head))):
        head += more
    return head
