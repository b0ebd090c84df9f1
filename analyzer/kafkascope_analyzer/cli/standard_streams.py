"""Replaces standard input, output and error where the parent of the process has closed them, as cron does and `>&-`.

The descriptor of a closed stream must not be reused for the next file that is opened: a table would get the output of a
command. It is replaced by one that fails where it is read or written, which the commands report; messages to a closed
standard error are lost.
"""

import errno
import io
import os
import sys
from typing import TextIO, cast

_CLOSED = ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY))
"""File descriptors, and the mode in which the null device is opened in their place: so that reading the input and
writing the output fail, and writing an error does not."""


def fix_standard_streams() -> None:
    """Opens closed streams, and has characters outside of their encoding written as escapes: the name of a file may
    have any bytes."""
    for number, how in _CLOSED:
        if _is_closed(number):
            opened = os.open(os.devnull, how)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)))
    sys.stdout = sys.stdout or _text(1)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace" if stream is sys.stdout else None)
    sys.stderr = cast(TextIO, _LossyText(_FileIO(2), sys.stderr.encoding if sys.stderr else "utf-8"))


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError as error:
        return error.errno == errno.EBADF
    return False


def _text(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(_FileIO(number)), "utf-8", "backslashreplace")


class _FileIO(io.FileIO):
    """A file descriptor for writing, regardless of the mode in which it was opened."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)


class _LossyText(io.TextIOWrapper):
    """Standard error without errors: text that cannot be written is lost, because it cannot be reported."""

    def __init__(self, raw: io.FileIO, encoding: str) -> None:
        super().__init__(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        """Writes a text as far as possible."""
        try:
            return super().write(text)
        except OSError:
            self._discard()
            return len(text)

    def flush(self) -> None:
        """Writes pending text as far as possible."""
        try:
            super().flush()
        except OSError:
            self._discard()

    def _discard(self) -> None:
        """Discards pending and later texts."""
        opened = os.open(os.devnull, os.O_WRONLY)
        os.dup2(opened, 2)
        os.close(opened)
