"""How loops over bytes and packets become machine code: once, kept on disk, without Python's lock.

A kernel does not count references. numba counts them (an atomic addition and subtraction) for every array of every
tuple that one function hands to another, and for every row of an array of structures: a quarter of what the kernels
took. Their arrays belong to the caller, who outlives the call, so a kernel needs no counts as long as it makes no array
itself; numba refuses to compile one that does. What a kernel needs to write on is given to it.

What is on disk is loaded without numba's library of implementations (60 modules, 0.15 s), which only compiling needs.

Both go by names in numba that are not documented: where one is missing, kernels are compiled and loaded as numba
always does it, and do the same.
"""

from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np
from numba.core import caching
from numba.core.options import DefaultOptions
from numpy.typing import NDArray

_UNCOUNTED: dict[str, bool] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_IS_LEAN = bool(_UNCOUNTED) and hasattr(caching.FunctionCache, "_load_overload")
"""Code that counts references needs more of numba around it than what is loaded here."""


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
        return getattr(self, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code for a signature; None, with all ready, where there is none."""
        return self._load_overload(signature, target) or super().load_overload(signature, target)


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
