"""How loops over bytes and packets become machine code: once, kept on disk, without Python's lock.

A kernel does not count references. numba counts them (an atomic addition and subtraction) for every array of every
tuple that one function hands to another, and for every row of an array of structures: a quarter of what the kernels
took. Their arrays belong to the caller, who outlives the call, so a kernel needs no counts as long as it makes no array
itself; numba refuses to compile one that does. What a kernel needs to write on is given to it.

What is on disk holds the code of all kernels that a kernel calls, and numba looks only at the file of the kernel
itself: so it is asked for by the state of all source files of the packages concerned.

What is on disk is loaded without numba's library of implementations (60 modules, 0.15 s), which only compiling needs.

Both go by names in numba that are not documented: where one is missing, kernels are compiled and loaded as numba
always does it, and do the same.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
from numba.core import caching
from numba.core.options import DefaultOptions
from numpy.typing import NDArray

from kafkascope_parsers.compilation import report_compilation

_UNCOUNTED: dict[str, bool] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_IS_LEAN = bool(_UNCOUNTED) and hasattr(caching.FunctionCache, "_load_overload")
"""Code that counts references needs more of numba around it than what is loaded here."""


@cache
def package_stamp(package: Path) -> tuple[int, int]:
    """The state of a package's source files: when the last of them was changed, and their sizes added up."""
    states = [path.stat() for path in package.rglob("*.py")]
    return max((state.st_mtime_ns for state in states), default=0), sum(state.st_size for state in states)


def _packages_of(function: Callable[..., Any]) -> set[Path]:
    """The packages whose kernels a kernel may call: this one, and its own."""
    own = sys.modules.get(function.__module__.partition(".")[0])
    paths = getattr(own, "__path__", ())
    return {Path(__file__).parent, *(Path(path) for path in paths)}


class _LeanCache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache of one function. It is set up when it is first asked for (numba writes a file to see whether it
    can), and looks for compiled code before it gets all ready for compiling.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __getattr__(self, name: str) -> Any:
        if "_function" not in vars(self) or "_impl" in vars(self):
            raise AttributeError(name)
        super().__init__(self._function)
        packages = sorted(_packages_of(self._function))
        own = self._cache_file._source_stamp
        self._cache_file._source_stamp = (own, *(package_stamp(package) for package in packages))
        return getattr(self, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code for a signature; None, with all ready, where there is none."""
        found = self._load_overload(signature, target) or super().load_overload(signature, target)
        if found is None:
            report_compilation()
        return found


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    made = nb.njit(nogil=True, cache=not _IS_LEAN, **options, **_UNCOUNTED)(function)
    if _IS_LEAN and hasattr(made, "_cache"):  # not where NUMBA_DISABLE_JIT has left a plain function
        made._cache = _LeanCache(function)
    return made


def kernel(function: Callable[..., Any]) -> Any:
    """Decorates a kernel."""
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Decorates a short function that is copied into the kernels that call it."""
    return _compiled(function, inline="always")


def prepare_kernels() -> None:
    """Loads what numba needs at the first call of any kernel, so that forked processes have it."""
    _nothing(np.empty(0, np.uint8))


@kernel
def _nothing(values: NDArray[np.uint8]) -> int:
    return len(values)
