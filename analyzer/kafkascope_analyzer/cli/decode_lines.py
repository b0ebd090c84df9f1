"""Reads JSON lines, gzip or plain, for `kafkascope decode --jsonl`."""

import gzip
import zlib
from collections.abc import Iterator

from kafkascope_parsers.errors import CaptureError

_GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path: str) -> Iterator[bytes]:
    """Yields the lines of a file, gzip or plain by its first bytes. Raises CaptureError when it cannot be read."""
    try:
        with open(path, "rb") as f:
            is_gzip = f.read(2) == _GZIP_MAGIC
        with gzip.open(path, "rb") if is_gzip else open(path, "rb") as f:
            yield from f
    except (OSError, EOFError, zlib.error) as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise CaptureError(why, name=path) from e
