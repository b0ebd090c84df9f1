"""Machine code of kernels, loaded and called by ctypes, without numba or a compiler.

A kernel is a shared library with one function: status = kernel(result, problem, argument, ...). It writes the return
value to `result`, or the address of an exception to `problem` (numba.core.callconv). A text in the library describes
the type of the result.
"""

import ctypes
import pickle
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kafkascope_parsers.kernel_target import check_processor

FUNCTION, RESULT = "kernel", "result"
"""The names of a library's function and of the text that describes its result."""
_DONE = frozenset({0, -2})
"""Status values of a function that returned a value, or None."""

ResultKind = str | None | tuple[str, ...]
"""The name of the dtype of a number, None, or those of a tuple of numbers."""


class _Problem(ctypes.Structure):
    """The first fields of the description of an exception, which is pickled with its arguments and its source line."""

    _fields_ = (("pickled", ctypes.c_void_p), ("n_bytes", ctypes.c_int32))


class KernelCode:
    """The machine code of a kernel for one kind of arguments. It runs without the GIL."""

    def __init__(self, library: Path, argument_types: Iterable[type[Any]]) -> None:
        """Loads the library. argument_types: C types of all values. Raises UsageError on a processor that the code does
        not support."""
        check_processor()
        loaded = ctypes.CDLL(str(library))
        made = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *argument_types)
        self._function = made((FUNCTION, loaded))
        text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(loaded, RESULT)))
        self._result_type, self._value_of = _result(_result_kind(text.decode()))

    def __call__(self, c_values: Sequence[Any]) -> Any:
        """Calls the kernel; returns its result, or raises its exception."""
        result, problem = self._result_type(), ctypes.POINTER(_Problem)()
        status = self._function(ctypes.addressof(result), ctypes.addressof(problem), *c_values)
        if status not in _DONE:
            raise _exception(problem)
        return self._value_of(result)


def result_text(kind: ResultKind) -> str:
    """Returns the description of a result in a library: `int64`, `int64,bool,` for a tuple, empty for None."""
    if isinstance(kind, tuple):
        return "".join(f"{name}," for name in kind)
    return kind or ""


def _result_kind(text: str) -> ResultKind:
    *items, last = text.split(",")
    return tuple(items) if items else last or None


def _result(kind: ResultKind) -> tuple[type[Any], Callable[[Any], Any]]:
    """Returns the C type of a function's result, and the function that converts it to Python."""
    if kind is None:
        return ctypes.c_void_p, lambda _: None
    if isinstance(kind, str):
        return _c_type(kind), lambda result: result.value
    names = [f"item_{i}" for i in range(len(kind))]
    made = type("Result", (ctypes.Structure,), {"_fields_": list(zip(names, map(_c_type, kind), strict=True))})
    return made, lambda result: tuple([getattr(result, name) for name in names])


def _c_type(name: str) -> type[Any]:
    made: type[Any] = np.ctypeslib.as_ctypes_type(np.dtype(name))
    return made


def _exception(problem: Any) -> BaseException:
    if not problem:
        return RuntimeError("a kernel failed without an exception")
    kind, arguments, _ = pickle.loads(ctypes.string_at(problem.contents.pickled, problem.contents.n_bytes))
    made: BaseException = kind(*arguments or ())
    return made
