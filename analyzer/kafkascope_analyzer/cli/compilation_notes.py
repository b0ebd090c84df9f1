"""Notes on a terminal that the first run compiles kernels, and how many it has compiled."""

import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kafkascope_analyzer.cli.messages import Messages
from kafkascope_parsers.compilation import on_compilation

EACH = 10
"""Number of kernels after which the count is printed again: compiling that many takes some ten seconds."""
_COUNT_BYTES = 8


@contextmanager
def compilation_notes(messages: Messages) -> Iterator[None]:
    """Notes compilations during the block, including those of forked processes, which share the count. Like all
    progress, only where standard error is a terminal."""
    if messages.quiet or not sys.stderr.isatty():
        yield
        return
    shared = mmap.mmap(-1, _COUNT_BYTES)

    def note() -> None:
        n = int.from_bytes(shared[:], "little") + 1
        shared[:] = n.to_bytes(_COUNT_BYTES, "little")
        if n == 1 or n % EACH == 0:
            messages.note(f"compiling kernels (first run only) … {n}")

    with on_compilation(note):
        yield
