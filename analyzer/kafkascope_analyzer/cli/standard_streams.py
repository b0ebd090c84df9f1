"""Standard input, output and error of a process whose parent has closed some of them, as cron does and `>&-`.

A closed one must not be taken by the next file that is opened: a table would get the output of a command. In its place
comes one that fails where it is read or written, which the commands report; messages to a closed standard error are
lost.
"""

import errno
import io
import os
import sys
from typing import TextIO, cast

_CLOSED = ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY))
"""File descriptor, and how the null device is opened in its place: so that reading the input and writing the output
fail, and writing an error does not."""


def mend_standard_streams() -> None:
    """Opens what is closed, and has characters that an encoding lacks written as escapes: the name of a file may be any
    bytes."""
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
    """A file descriptor that is written to, whatever it was opened for."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)


class _LossyText(io.TextIOWrapper):
    """Standard error: what cannot be written is lost, because there is nobody to tell it to."""

    def __init__(self, raw: io.FileIO, encoding: str) -> None:
        super().__init__(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        """Writes a text as far as that is possible."""
        try:
            return super().write(text)
        except OSError:
            self._discard()
            return len(text)

    def flush(self) -> None:
        """Writes what is pending as far as that is possible."""
        try:
            super().flush()
        except OSError:
            self._discard()

    def _discard(self) -> None:
        """Later texts go nowhere, and so does what is pending."""
        opened = os.open(os.devnull, os.O_WRONLY)
        os.dup2(opened, 2)
        os.close(opened)
