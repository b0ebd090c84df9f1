"""Kernels: loops over bytes and packets that are compiled to machine code once, kept on disk, and run without the GIL.

A kernel does not count references. numba counts them (an atomic addition and subtraction) for every array of every
tuple that one function passes to another, and for every row of an array of structures, which took a quarter of the
kernels' time. The arrays belong to the caller, which outlives the call, so a kernel needs no reference counts as long
as it creates no array itself; numba refuses to compile one that does. Output arrays are passed to a kernel.

Machine code is a shared library for each kernel and each kind of arguments (kernel_code). A wheel contains those of all
kernels with the arguments that the program uses (kernel_signatures), compiled when the wheel was built (listed_code).
In a clone, kernels are compiled at the first call and kept in a folder of the user (kernel_files). In both cases
machine code is found by a stamp of all its inputs (kernel_stamp): neither another location of the sources nor changes
elsewhere in them make a kernel compile again. Only compiling needs numba (kernel_compiler).
"""

import inspect
import os
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kafkascope_parsers.compilation import report_compilation
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.kernel_arguments import c_types, take_apart
from kafkascope_parsers.kernel_code import KernelCode
from kafkascope_parsers.kernel_files import find_code, save_code
from kafkascope_parsers.kernel_signatures import Signature, listed_signature, listed_signatures
from kafkascope_parsers.kernel_stamp import call_stamp, kernel_stamp
from kafkascope_parsers.kernel_target import target

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
"""Whether kernels are compiled; if not, they are the Python functions from which they were made."""
_OPTIONS = {"nogil": True, "_nrt": False}


class Kernel:
    """A function that is compiled for each kind of arguments of its calls.

    Other kernels, which numba compiles, can call it like a function that numba compiled: numba uses `_numba_type_`, and
    py_func and targetoptions to copy it into another kernel.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.py_func, self.targetoptions = function, _OPTIONS | options
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._n_arguments = function.__code__.co_argcount
        self._codes: dict[Signature, KernelCode] = {}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the kernel and returns its result."""
        if named or len(arguments) != self._n_arguments:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        c_values: list[Any] = []
        kinds = tuple([take_apart(argument, c_values) for argument in arguments])
        code = self._codes.get(kinds)
        if code is None:
            code = self._codes[kinds] = self._code(kinds)
        return code(c_values)

    @cached_property
    def _stamp(self) -> str:
        """Stamp of the kernel. It is made at the first use, because globals of a kernel may be defined after it."""
        return kernel_stamp(self)

    @cached_property
    def _dispatcher(self) -> Any:
        from kafkascope_parsers.kernel_compiler import dispatcher

        return dispatcher(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return self._dispatcher._numba_type_

    def _code(self, kinds: Signature) -> KernelCode:
        """Returns the machine code for arguments of these kinds."""
        signature = listed_signature(self.__module__, self.__name__, kinds) or kinds
        code = self._codes.get(signature)
        if code is None:
            types = [each for kind in signature for each in c_types(kind)]
            code = self._codes[signature] = KernelCode(self.library(signature), types)
        return code

    def library(self, signature: Signature) -> Path:
        """Returns the machine code for such arguments, from disk or compiled. Raises UsageError if it cannot be
        compiled."""
        name = self.library_name(signature)
        if path := find_code(name):
            return path
        if find_spec("numba") is None:
            raise UsageError(
                f"the kernel {self.__name__} has to be compiled, for which numba is not installed: "
                "pip install 'kafkascope[compile]'"
            )
        report_compilation()
        from kafkascope_parsers.kernel_compiler import compile_kernel

        return save_code(name, compile_kernel(self._dispatcher, signature))

    def library_name(self, signature: Signature) -> str:
        """Returns the name of a library's file in a wheel, without its suffix."""
        return f"{self.__module__}.{self.__name__}-{self._stamp}-{call_stamp(signature, target())}"


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    return Kernel(function, **options) if COMPILES else function


def kernel(function: Callable[..., Any]) -> Any:
    """Decorates a kernel."""
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Decorates a short function that is copied into the kernels that call it."""
    return _compiled(function, inline="always")


def listed_code(module: str, name: str) -> list[tuple[str, Path]]:
    """Returns the machine code of a kernel for all its listed signatures, with its names in a wheel. Missing code is
    compiled."""
    found = getattr(import_module(module), name)
    return [(found.library_name(each), found.library(each)) for each in listed_signatures(module, name)]
