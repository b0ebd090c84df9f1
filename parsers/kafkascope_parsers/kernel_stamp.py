"""Stamps of kernels: hashes of all inputs of a kernel's machine code, so that a stamp changes whenever one of them
does.

Machine code on disk is used for a kernel with the same stamp, so the stamp must cover everything that determines
numba's result. That is not only the kernel: numba copies the values of all globals that a kernel uses, and the kernels
that it calls, into the machine code. So a stamp covers, for the kernel and each function that it reaches:

- the bytecode with its constants and names, and the options of its decorator;
- the values of the globals, closure cells and defaults that it names: numbers, texts, arrays, tuples, the fields of
  named tuples, the members of enumerations, and, for a module of ours, those of its attributes that it names;
- the version of Python's bytecode, and numba's settings.

It does not cover the location of the sources, their comments, docstrings and lines: no kernel raises an exception that
would contain them. A value of an unknown type is refused, so that nothing is silently left out of a stamp.
"""

import builtins
import dis
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np

from kafkascope_parsers.kernel_arguments import ArrayKind, Kind, RowKind, TupleKind
from kafkascope_parsers.kernel_instruction import Instruction, Prefetch
from kafkascope_parsers.kernel_target import Target

_NAMED = frozenset({"numba", "llvmlite", "numpy", builtins.__name__, "math"})
"""Modules whose objects are in a stamp only by name: kernel_files adds the versions of the compiler's packages."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), EllipsisType)
_SETTINGS = (
    "BOUNDSCHECK",
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "ENABLE_AVX",
    "DISABLE_INTEL_SVML",
    "USING_SVML",
    "DEBUGINFO_DEFAULT",
    "ENABLE_PROFILING",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "PARFOR_MAX_TUPLE_SIZE",
)
"""numba's settings that change machine code, besides those for the processor, which are in its name and features. Their
environment variables begin with NUMBA_."""
_SETTINGS_FILE = Path(".numba_config.yaml")
"""File in the working folder in which numba also looks for settings."""
_STAMP_DIGITS, _CALL_DIGITS = 32, 16


def kernel_stamp(kernel: Any) -> str:
    """Returns the stamp of a kernel in hexadecimal digits. Raises TypeError for values that a stamp cannot describe."""
    return _digest((_surroundings(), _Description().of(kernel)), _STAMP_DIGITS)


def call_stamp(kinds: Iterable[Kind], target: Target) -> str:
    """Returns the stamp of one compilation of a kernel: for arguments of these kinds, an operating system and a
    processor."""
    description = _Description()
    return _digest(([description.of_kind(each) for each in kinds], sys.platform, target.cpu), _CALL_DIGITS)


def _digest(description: Any, digits: int) -> str:
    return hashlib.sha256(repr(description).encode()).hexdigest()[:digits]


def _surroundings() -> tuple[Any, ...]:
    settings = [(name, os.environ.get(f"NUMBA_{name}")) for name in _SETTINGS]
    return MAGIC_NUMBER, settings, _SETTINGS_FILE.read_bytes() if _SETTINGS_FILE.is_file() else None


class _Description:
    """Describes values by texts and numbers in tuples. A function is described once and replaced by a number elsewhere,
    so that functions may call each other."""

    def __init__(self) -> None:
        self._numbers: dict[Callable[..., Any], int] = {}
        self._waiting: list[tuple[Callable[..., Any], Any]] = []

    def of(self, kernel: Any) -> list[Any]:
        """Describes a kernel and all functions that it reaches, in the order of their first use."""
        self._of_value(kernel)
        return list(self._of_functions())

    def of_kind(self, kind: Kind) -> Any:
        """A kind of arguments: of an array its layout, of a row its fields and places, of a named tuple the order of
        its fields, by which machine code reads them."""
        if isinstance(kind, TupleKind):
            return self._of_class(kind.made_by), [self.of_kind(each) for each in kind.items]
        if isinstance(kind, ArrayKind | RowKind):
            return type(kind).__name__, repr(kind)
        return kind.__name__ if isinstance(kind, type) else repr(kind)

    def _of_functions(self) -> Iterator[Any]:
        while self._waiting:
            function, options = self._waiting.pop(0)
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
            kept = (cells, function.__defaults__ or (), sorted((function.__kwdefaults__ or {}).items()))
            named = [(name, function.__globals__[name]) for name in _names(function) if name in function.__globals__]
            attributes = {each for _, module in named if isinstance(module, ModuleType) for each in _names(function)}
            yield (
                _identity(function),
                sorted((name, repr(option)) for name, option in options.items()),
                self._of_code(function.__code__, _docstring_place(function)),
                [self._of_value(tuple(value)) for value in kept],
                [(name, self._of_value(value, attributes)) for name, value in named],
            )

    def _of_code(self, code: CodeType, unused: int | None = None) -> Any:
        """Describes bytecode. unused: index of a constant that it does not load."""
        constants = [self._of_value(each) for place, each in enumerate(code.co_consts) if place != unused]
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        variables = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return code.co_name, code.co_code, code.co_exceptiontable, constants, counts, variables

    def _of_value(self, value: Any, attributes: Iterable[str] = ()) -> Any:
        """Describes a constant, or the value of a global. attributes: used attributes of a module."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return type(value).__name__, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._of_array(value)
        if isinstance(value, np.dtype):
            return "dtype", repr(value)
        if isinstance(value, Enum):
            return self._of_class(type(value)), value.name
        if isinstance(value, tuple):
            return self._of_class(type(value)), [self._of_value(each) for each in value]
        if isinstance(value, Instruction | Prefetch):
            return "instruction", repr(value)
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, ModuleType):
            return self._of_module(value, attributes)
        if isinstance(value, CodeType):
            return self._of_code(value)
        return self._of_function(value)

    def _of_array(self, value: Any) -> Any:
        if value.dtype.hasobject:
            raise TypeError("the stamp of a kernel cannot describe an array of objects")
        flags = (value.flags.c_contiguous, value.flags.f_contiguous, value.flags.aligned)
        return type(value).__name__, repr(value.dtype), value.shape, flags, value.tobytes()

    def _of_class(self, found: type) -> Any:
        if _is_named(found):
            return _identity(found)
        if issubclass(found, Enum):
            return _identity(found), [(each.name, self._of_value(each.value)) for each in found]
        if issubclass(found, tuple) and hasattr(found, "_fields"):
            return _identity(found), found._fields
        raise TypeError(f"the stamp of a kernel cannot describe {found!r}")

    def _of_module(self, module: ModuleType, attributes: Iterable[str]) -> Any:
        if module.__name__.partition(".")[0] in _NAMED:
            return "module", module.__name__
        found = [(name, getattr(module, name)) for name in sorted(attributes) if hasattr(module, name)]
        nested = [(name, self._of_value(value, set(attributes) - {name})) for name, value in found]
        return "module", module.__name__, nested

    def _of_function(self, value: Any) -> Any:
        """Describes a kernel, an intrinsic or a Python function by its number, and a function of numba or numpy by its
        name."""
        options = getattr(value, "targetoptions", {})
        function = getattr(value, "py_func", None) or getattr(value, "_defn", value)
        if _is_named(function):
            return _identity(function)
        if not isinstance(function, FunctionType):
            raise TypeError(f"the stamp of a kernel cannot describe {value!r}")
        if function not in self._numbers:
            self._numbers[function] = len(self._numbers)
            self._waiting.append((function, options))
        return type(value).__name__, self._numbers[function]


def _is_named(value: Any) -> bool:
    """Whether it belongs to a package that is described by its version."""
    return hasattr(value, "__name__") and str(getattr(value, "__module__", "")).partition(".")[0] in _NAMED


def _identity(value: Any) -> tuple[str, str]:
    return value.__module__, getattr(value, "__qualname__", value.__name__)


def _names(function: Callable[..., Any]) -> list[str]:
    """Returns the globals and attributes that a function, or a function inside it, uses."""
    found, waiting = set[str](), [function.__code__]
    while waiting:
        code = waiting.pop()
        found.update(code.co_names)
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
    return sorted(found)


def _docstring_place(function: Callable[..., Any]) -> int | None:
    """Returns the index of a function's docstring, or of None, among its constants, if its bytecode does not load it;
    else None."""
    code = function.__code__
    if not code.co_consts or code.co_consts[0] != function.__doc__:
        return None
    pairs = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return None if any(operation in dis.hasconst and place == 0 for operation, place in pairs) else 0
