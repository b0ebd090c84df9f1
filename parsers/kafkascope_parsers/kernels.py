"""How loops over bytes and packets become machine code: once, kept on disk, without Python's lock.

A kernel does not count references. numba counts them (an atomic addition and subtraction) for every array of every
tuple that one function hands to another, and for every row of an array of structures: a quarter of what the kernels
took. Their arrays belong to the caller, who outlives the call, so a kernel needs no counts as long as it makes no array
itself; numba refuses to compile one that does. What a kernel needs to write on is given to it.

Machine code is a shared library for each kernel and each kind of arguments (kernel_code). A wheel brings those of all
kernels that the program calls, with the arguments that it calls them with (kernel_signatures); they were compiled when
the wheel was built (listed_code). What a clone calls is compiled at the first call and kept in a folder of the user
(kernel_files). In both it is found by a stamp of all that decides what the machine code is (kernel_stamp): neither the
place of the sources nor a change elsewhere in them has a kernel compiled again. Only compiling needs numba
(kernel_compiler).
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
"""Where not, kernels are the functions in Python that they were made of."""
_OPTIONS = {"nogil": True, "_nrt": False}


class Kernel:
    """A function that is compiled for each kind of arguments that it is called with.

    To other kernels, which numba compiles, it is what numba has for a compiled function: numba looks for
    `_numba_type_`, and to copy it into another one for py_func and targetoptions.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.py_func, self.targetoptions = function, _OPTIONS | options
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._n_arguments = function.__code__.co_argcount
        self._codes: dict[Signature, KernelCode] = {}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the function returns."""
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
        """Made when it is first asked for: what a kernel names may be defined after it."""
        return kernel_stamp(self)

    @cached_property
    def _dispatcher(self) -> Any:
        from kafkascope_parsers.kernel_compiler import dispatcher

        return dispatcher(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return self._dispatcher._numba_type_

    def _code(self, kinds: Signature) -> KernelCode:
        """The machine code for arguments of these kinds."""
        signature = listed_signature(self.__module__, self.__name__, kinds) or kinds
        code = self._codes.get(signature)
        if code is None:
            types = [each for kind in signature for each in c_types(kind)]
            code = self._codes[signature] = KernelCode(self.library(signature), types)
        return code

    def library(self, signature: Signature) -> Path:
        """The machine code for such arguments: from disk, or compiled. Raises UsageError where nothing compiles it."""
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
        """The name of a library's file in a wheel, without its suffix."""
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
    """The machine code of a kernel for all arguments that it is listed with, compiled where it has to be; with the
    names that it has in a wheel."""
    found = getattr(import_module(module), name)
    return [(found.library_name(each), found.library(each)) for each in listed_signatures(module, name)]
