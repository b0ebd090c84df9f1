"""Memory that is free inside a process, and how it goes back to the system.

Arrays of all sizes come and go with every block, between a few that stay. What is free between those the C library
keeps for the next ones: a third of a worker's memory after some hundred thousand connections.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_STATM = Path("/proc/self/statm")


def _trimmer() -> Callable[[int], int] | None:
    """glibc's malloc_trim; None where the C library is another."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # macOS has none, Windows no library of that name
        return None
    return trim


_trim = _trimmer()


def give_back() -> None:
    """Returns free pages to the system; nothing where the C library cannot. Takes some milliseconds."""
    if _trim is not None:
        _trim(0)


def stay_below(n_bytes: int) -> None:
    """Returns free pages to the system when the process has more than n_bytes resident."""
    if _trim is not None and _resident_bytes() > n_bytes:
        _trim(0)


def _resident_bytes() -> int:
    """Resident memory of this process, shared pages among it (proc(5)); 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
