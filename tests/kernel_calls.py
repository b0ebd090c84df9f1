"""Whether the program calls kernels with listed arguments only: a wheel brings machine code for these and no others.

A test fails in which a module of the program calls a kernel with what its package does not list. With --list-kernels it
is added to the list instead: `python -m pytest --list-kernels -n 0 tests/...`. What a kernel does not write to is
listed as read-only (`const`), so that it makes no difference whether a caller's array is.
"""

import fcntl
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafkascope_parsers import kernel_signatures, kernels
from kafkascope_parsers.kernel_arguments import WRITEABLE, ArrayKind, Kind, TupleKind
from kafkascope_parsers.kernel_signatures import FILE_NAME, Signature, listed_signature, merged, text_of

PROGRAM = ("kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark")


def check_kernel_calls(adds: bool) -> None:
    """Checks, or adds, all calls of this process and of those that it forks."""

    def find(module: str, name: str, kinds: Signature) -> Signature | None:
        found = listed_signature(module, name, kinds)
        if found is None and package_of_caller() in PROGRAM:
            text = [*map(text_of, kinds)]
            assert adds, f"{module}.{name} is not listed with {text}: pytest --list-kernels adds it ({__file__})"
            add_to_list(module, name, kinds)
        return found

    kernels.listed_signature = find


def package_of_caller() -> str:
    """The package that calls a kernel now."""
    frame: Any = sys._getframe()
    while frame.f_globals["__name__"] in {__name__, kernels.__name__}:
        frame = frame.f_back
    return str(frame.f_globals["__name__"]).partition(".")[0]


def add_to_list(module: str, name: str, kinds: Signature) -> None:
    """Makes the signature that fits best fit the call too, or adds another one."""
    package = module.partition(".")[0]
    path = Path(str(sys.modules[package].__file__)).with_name(FILE_NAME)
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        forget()
        listed = [*kernel_signatures.listed_signatures(module, name)]
        place, signature = next(
            ((i, fits) for i, each in enumerate(listed) if (fits := merged(each, kinds)) is not None),
            (len(listed), kinds),
        )
        listed[place : place + 1] = [least_demanding(getattr(sys.modules[module], name), signature)]
        lists = json.loads(file.read())
        lists[f"{module}.{name}"] = [[*map(text_of, each)] for each in listed]
        file.seek(0)
        file.truncate()
        file.write(text_of_lists(lists))
    forget()


def least_demanding(kernel: kernels.Kernel, signature: Signature) -> Signature:
    """The same with each array read-only that the kernel can be compiled with so: as numba's refusals tell, all of one
    type at a time."""
    from numba.core.errors import NumbaError

    from kafkascope_parsers.kernel_compiler import _type, compile_kernel

    written: set[Kind] = set()
    while True:
        tried = tuple(_read_only(kind, written) for kind in signature)
        try:
            compile_kernel(kernel._dispatcher, tried)
        except NumbaError as refusal:
            found = {each for kind in tried for each in _arrays(kind) if str(_type(each)) in str(refusal)} - written
            if not found:
                return signature
            written |= found
        else:
            return tried


def _read_only(kind: Any, written: set[Kind]) -> Any:
    if isinstance(kind, TupleKind):
        return kind._replace(items=tuple(_read_only(item, written) for item in kind.items))
    if not isinstance(kind, ArrayKind):
        return kind
    read_only = kind._replace(flags=kind.flags & ~WRITEABLE)
    return kind if read_only in written else read_only


def _arrays(kind: Any) -> Iterator[Kind]:
    if isinstance(kind, ArrayKind):
        yield kind
    elif isinstance(kind, TupleKind):
        for item in kind.items:
            yield from _arrays(item)


def text_of_lists(lists: dict[str, list[Any]]) -> str:
    """A line for each signature."""
    kernels = [
        f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(each)}" for each in lists[name]) + "\n ]"
        for name in sorted(lists)
    ]
    return "{\n" + ",\n".join(kernels) + "\n}\n"


def forget() -> None:
    """Clears what was read of the lists."""
    kernel_signatures._list_of.cache_clear()
    kernel_signatures.listed_signatures.cache_clear()
