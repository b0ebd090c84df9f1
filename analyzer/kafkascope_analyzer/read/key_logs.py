"""Key logs: files with the secrets of TLS sessions, also compressed, on this machine, in a store or behind a URL.

Each process, and each task of Spark, that decrypts reads them itself: only their places are passed between processes.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from kafkascope_analyzer.read.file_with_head import FileWithHead
from kafkascope_analyzer.read.place import CapturePlace, LocalCapture, StoredCapture, place_of
from kafkascope_parsers.compression import compression_of, decompressed
from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_parsers.tls import KeyLog

FILE_BYTES = 1 << 30
"""Most bytes of one key log, decompressed: some five million lines."""
LINE_BYTES = 1 << 20
"""Most bytes of a line: a file with a longer one is not a key log."""
_TOO_LONG = "it is longer than 1 GiB; leave out sessions that the capture does not show"
_NO_LINES = "it has no lines: it is no key log"
_MAGIC_BYTES = 64
_CHUNK_BYTES = 1 << 20


def key_log_places(given: Iterable[Path | str]) -> tuple[CapturePlace, ...]:
    """Returns the key logs for paths and URIs: for a directory the files in it, by name. Raises UsageError where there
    is none, and for files that cannot be read twice."""
    return tuple(place for one in given for place in _places_at(place_of(one)))


def read_key_logs(places: Sequence[CapturePlace], unwanted: Container[bytes] = frozenset()) -> KeyLog:
    """Returns the secrets in some key logs, without those of the sessions whose client randoms are unwanted. Raises
    UsageError where one cannot be read, with no text of it in the message."""
    log = KeyLog(unwanted)
    for lines in _texts(places):
        log.add(lines)
    return log


def key_log_lines(places: Sequence[CapturePlace]) -> Iterator[bytes]:
    """Yields the lines of some key logs. Raises UsageError like read_key_logs."""
    for lines in _texts(places):
        yield from lines.splitlines()


def _places_at(place: CapturePlace) -> Iterator[CapturePlace]:
    if isinstance(place, LocalCapture) and place.local.is_dir():
        yield from _some(place, [place_of(file) for file in sorted(place.local.iterdir()) if file.is_file()])
    elif isinstance(place, StoredCapture) and not place.storage.file_info().is_file:
        names = sorted(name for name in place.storage.listed("") if "/" not in name)
        yield from _some(place, [place_of(place.storage.uri_of(name)) for name in names])
    elif place.is_stream and not (isinstance(place, LocalCapture) and not place.local.exists()):
        raise UsageError(f"{place}: a key log is read more than once: give a file")
    else:
        yield place


def _some(folder: CapturePlace, places: list[CapturePlace]) -> list[CapturePlace]:
    if not places:
        raise UsageError(f"{folder}: there is no key log in this directory")
    return places


def _texts(places: Sequence[CapturePlace]) -> Iterator[bytes]:
    """Yields whole lines of the key logs, many at a time."""
    for place in places:
        try:
            yield from _lines(place)
        except OSError as error:
            raise UsageError(f"{place}: the key log cannot be read: {error.strerror or error}") from None
        except (EOFError, CaptureError) as error:
            why = error.why if isinstance(error, CaptureError) else error
            raise UsageError(f"{place}: the key log cannot be read: {why}") from None


def _lines(place: CapturePlace) -> Iterator[bytes]:
    """Yields whole lines of a key log, many at a time. Raises EOFError where it is damaged or longer than
    FILE_BYTES."""
    chunk, rest, n_bytes = bytearray(_CHUNK_BYTES), b"", 0
    with place.open() as file:
        packed = FileWithHead(file, _MAGIC_BYTES)
        stream = decompressed(packed, compression_of(packed.head()))
        while n := stream.readinto(memoryview(chunk)):
            n_bytes += n
            text = rest + chunk[:n]
            end = text.rfind(b"\n") + 1
            rest = bytes(text[end:])
            if n_bytes > FILE_BYTES or len(rest) > LINE_BYTES:
                raise EOFError(_TOO_LONG if n_bytes > FILE_BYTES else _NO_LINES)
            yield bytes(text[:end])
    if stream.problem:
        raise EOFError(stream.problem)
    yield rest
