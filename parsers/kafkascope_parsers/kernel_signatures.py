"""The kernels that the program calls, with the kinds of their arguments, for which a wheel contains machine code. Each
package lists its own in kernel_signatures.json.

A call may have stronger properties than a listed signature requires (a writable array, or a contiguous one where the
kernel uses strides): it runs the code of that signature. So a kernel has several signatures only if it is called with
different types.

Tests add to the lists, and fail if the program calls a kernel with arguments that are not listed
(tests/kernel_signatures.py).
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kafkascope_parsers.kernel_arguments import ALIGNED, CONTIGUOUS, WRITEABLE, ArrayKind, Kind, RowKind, TupleKind

Signature = tuple[Kind, ...]
FILE_NAME = "kernel_signatures.json"
_LACKING = {"strided": CONTIGUOUS, "unaligned": ALIGNED, "const": WRITEABLE}
"""Words in a list for an array without a flag."""
_PLAIN: dict[str, type] = {"int": int, "bool": bool, "float": float, "None": type(None)}
_TEXTS = {kind: text for text, kind in _PLAIN.items()}
_ROW = "row "


def listed_signature(module: str, name: str, kinds: Signature) -> Signature | None:
    """Returns the signature of a kernel that fits a call; None if none does."""
    return next((each for each in listed_signatures(module, name) if merged(each, kinds) == each), None)


@cache
def listed_signatures(module: str, name: str) -> tuple[Signature, ...]:
    """Returns all signatures of a kernel."""
    found = _list_of(module.partition(".")[0]).get(f"{module}.{name}", ())
    return tuple(tuple(map(_kind, each)) for each in found)


def listed_kernels(package: str) -> Iterator[tuple[str, str]]:
    """Yields the module and name of each kernel that a package lists."""
    for each in _list_of(package):
        module, _, name = each.rpartition(".")
        yield module, name


def merged(one: Any, other: Any) -> Any:
    """Returns the signature that fits the calls of both; None if they differ in more than the flags of arrays."""
    if isinstance(one, ArrayKind) and isinstance(other, ArrayKind):
        return one._replace(flags=one.flags & other.flags) if one[:2] == other[:2] else None
    if isinstance(one, TupleKind) and isinstance(other, TupleKind):
        items = merged(one.items, other.items)
        return None if items is None or one.made_by is not other.made_by else one._replace(items=items)
    if type(one) is tuple and type(other) is tuple:
        parts = [merged(*each) for each in zip(one, other, strict=True)] if len(one) == len(other) else [None]
        return None if None in parts else tuple(parts)
    return one if one == other else None


def text_of(kind: Kind) -> Any:
    """Returns a kind of arguments in the format of a list."""
    if isinstance(kind, TupleKind):
        named = "tuple" if kind.made_by is tuple else f"{kind.made_by.__module__}.{kind.made_by.__qualname__}"
        return [named, *map(text_of, kind.items)]
    if isinstance(kind, ArrayKind):
        words = [word for word, flag in _LACKING.items() if not kind.flags & flag]
        return " ".join([*words, f"{_text_of_type(kind.dtype)}[{','.join(':' * kind.n_dimensions)}]"])
    if isinstance(kind, RowKind):
        return _ROW + _text_of_type(kind.dtype)
    return _TEXTS[kind] if isinstance(kind, type) else _text_of_type(kind)


def _kind(text: Any) -> Kind:
    if isinstance(text, list):
        made_by = tuple if text[0] == "tuple" else _named(text[0])
        return TupleKind(made_by, tuple(map(_kind, text[1:])))
    if text in _PLAIN:
        return _PLAIN[text]
    if text.startswith(_ROW):
        return RowKind(_type(text.removeprefix(_ROW)))
    if not text.endswith("]"):
        return _type(text)
    *words, array = text.split(" ")
    name, _, dimensions = array.partition("[")
    flags = sum(flag for word, flag in _LACKING.items() if word not in words)
    return ArrayKind(_type(name), dimensions.count(":"), flags)


def _text_of_type(found: np.dtype[Any]) -> str:
    """Returns the name of a number type; for a structured type, the variable of this program that defines it."""
    if found.names is None:
        return found.name if found.isnative and found.kind in "biuf" else found.str
    ours = [name for name in sys.modules if name.startswith("kafkascope_")]
    for name in sorted(ours, key=lambda name: (name.count("."), name)):
        for variable, value in vars(sys.modules[name]).items():
            if isinstance(value, np.dtype) and value == found and value.type is found.type:
                return f"{name}.{variable}"
    raise TypeError(f"no variable of a module has the type {found}")


def _type(text: str) -> np.dtype[Any]:
    return _named(text) if "." in text else np.dtype(text)


def _named(text: str) -> Any:
    module, _, name = text.rpartition(".")
    return getattr(import_module(module), name)


@cache
def _list_of(package: str) -> dict[str, list[list[Any]]]:
    """Returns the list of an imported package; empty for a package that is not imported or has none."""
    file = getattr(sys.modules.get(package), "__file__", None)
    path = Path(file).with_name(FILE_NAME) if file else None
    return dict(json.loads(path.read_text("utf-8"))) if path and path.is_file() else {}
