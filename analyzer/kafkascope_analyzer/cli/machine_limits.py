"""Sentences for limits of the machine: memory, file handles, threads, sizes of files; and for failures of
the output."""

import errno
import fcntl
import os
import resource
import sys
from collections.abc import Iterator, Mapping

_MEMORY = "there is not enough memory: raise the limit (ulimit -v), or lower --max-memory or --jobs"
_THREADS = "no more threads or processes may be started: raise the limits (ulimit -u, ulimit -v), or lower --jobs"
_FILES = "too many files are open: raise the limit (ulimit -n), or lower --jobs"
LEAST_ADDRESS_SPACE = 3 << 29
"""Least address space, bytes: with less (ulimit -v) the libraries end the process while they are loaded."""
_NUMBERS: Mapping[int, str] = {
    errno.ENOMEM: _MEMORY,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.EAGAIN: _THREADS,
    errno.EFBIG: "a file would become larger than the limit allows: raise it (ulimit -f)",
    errno.EDQUOT: "the disk quota is used up: free some space, or write elsewhere",
}
"""Error number -> its meaning for the user."""
_TEXTS: Mapping[str, str] = {
    "can't start new thread": _THREADS,
    "failed to map segment": _MEMORY,
    "cannot allocate memory": _MEMORY,
    "unable to allocate": _MEMORY,
    "malloc of size": _MEMORY,
    "out of memory": _MEMORY,
    "too many open files": _FILES,
}
"""Part of a library's message, in lower case -> its meaning for the user."""
_SAYS_SO = (ImportError, RuntimeError, OSError, SystemError)
_MOST_CAUSES = 20
"""Most causes of an exception that are followed: each may have a cause of its own."""


def address_space_problem() -> str | None:
    """Returns the sentence for a limit of the address space under which no command can run; None where
    there is none."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= LEAST_ADDRESS_SPACE:
        return None
    return f"the limit of {limit >> 20} MiB of memory is too low: raise it to 1.5 GiB or more (ulimit -v)"


def limit_reached(error: BaseException) -> str | None:
    """Returns the sentence for an exception that a limit of the machine has caused; None for any other."""
    return next((sentence for each in _causes(error) if (sentence := _sentence(each))), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__


def _sentence(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, OSError) and (meaning := _NUMBERS.get(error.errno or 0)):
        return meaning
    text = str(error).lower() if isinstance(error, _SAYS_SO) else ""
    return next((sentence for part, sentence in _TEXTS.items() if part in text), None)


def output_problem(error: BaseException) -> str | None:
    """Returns the sentence for an exception because standard output cannot be written; None for any other."""
    if not isinstance(error, OSError) or error.filename is not None or isinstance(error, BrokenPipeError):
        return None
    if error.errno == errno.ENOSPC:
        return "standard output cannot be written: no space left on its device; free some, or write elsewhere"
    if error.errno == errno.EBADF and not _is_writable(1):
        return "standard output cannot be written: it is closed; write elsewhere"
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return f"standard output cannot be written: {str(error.strerror or error).lower()}; write elsewhere"
    return None


def _is_writable(number: int) -> bool:
    """Whether a file descriptor may be written. Output that could not be written to it may be lost, so that flushing
    the file again succeeds."""
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False
