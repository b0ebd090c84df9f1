"""Returns memory that is free inside a process to the system.

With every block arrays of all sizes are allocated and freed, between a few that stay. The C library keeps the freed
memory between those for later allocations: a third of a worker's memory after some hundred thousand connections.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_STATM = Path("/proc/self/statm")


def _trimmer() -> Callable[[int], int] | None:
    """Returns glibc's malloc_trim; None with another C library."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # macOS lacks malloc_trim, Windows a library of that name
        return None
    return trim


_trim = _trimmer()


def give_back() -> None:
    """Returns free pages to the system; does nothing where the C library cannot. Takes some milliseconds."""
    if _trim is not None:
        _trim(0)


def stay_below(n_bytes: int) -> None:
    """Returns free pages to the system when the process has more than n_bytes resident."""
    if _trim is not None and _resident_bytes() > n_bytes:
        _trim(0)


def _resident_bytes() -> int:
    """Returns the resident memory of this process, including shared pages (proc(5)); 0 where the system
    does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
