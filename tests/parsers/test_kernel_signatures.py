"""The lists of kernels that the program calls: each names what is there, and a call fits what promises no more."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kafkascope_analyzer
import kafkascope_parsers
from kafkascope_parsers.capture.columns import PacketArrays
from kafkascope_parsers.kernel_arguments import Kind, take_apart
from kafkascope_parsers.kernel_signatures import _kind, listed_kernels, listed_signatures, merged, text_of
from kafkascope_parsers.kernels import COMPILES, Kernel
from kafkascope_parsers.tcp.state import SIDE


def kinds(*arguments: object) -> tuple[Kind, ...]:
    return tuple(take_apart(each, []) for each in arguments)


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
@pytest.mark.parametrize("package", [kafkascope_parsers, kafkascope_analyzer])
def test_each_list_names_kernels_and_types_that_there_are(package) -> None:
    listed = [*listed_kernels(package.__name__)]
    for module, name in listed:
        kernel = getattr(import_module(module), name)
        assert isinstance(kernel, Kernel)
        signatures = listed_signatures(module, name)
        assert {len(each) for each in signatures} == {kernel._n_arguments}
        apart = [merged(a, b) for i, a in enumerate(signatures) for b in signatures[:i]]
        assert apart == [None] * len(apart)  # no two that one would do for
    assert len(listed) > 10


def modules_with_kernels() -> Iterator[ModuleType]:
    """Those that define kernels, and those that import something of such a module."""
    texts = {
        f"{package.__name__}.{'.'.join(path.relative_to(folder).with_suffix('').parts)}".removesuffix(".__init__"): (
            path.read_text("utf-8")
        )
        for package in (kafkascope_parsers, kafkascope_analyzer)
        for folder in map(Path, package.__path__)
        for path in folder.rglob("*.py")
    }
    with_kernels = {name for name, text in texts.items() if "\n@kernel\n" in text}
    for name, text in texts.items():
        if name in with_kernels or with_kernels.intersection(re.findall(r"^from (\S+) import", text, re.MULTILINE)):
            yield import_module(name)


def kernels_called_in(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The kernels that functions name that are none themselves."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}
    for part in ast.parse(inspect.getsource(module)).body if found else ():
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name not in found:
            names = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)} & found.keys()
            yield from ((found[name].__module__, found[name].__name__) for name in names)


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_what_the_program_calls_is_listed_and_nothing_else() -> None:
    """By its text: a kernel that no test calls is found too."""
    called = {each for module in modules_with_kernels() for each in kernels_called_in(module)}
    listed = {
        each for package in (kafkascope_parsers, kafkascope_analyzer) for each in listed_kernels(package.__name__)
    }
    assert listed == called


def test_a_list_has_each_kind_of_arguments_as_it_is_read_back() -> None:
    rows = np.zeros(3, SIDE)
    found = kinds(
        *(1, True, 0.5, None, np.uint8(3), np.array([1], ">u4")[0]),
        np.zeros(3, np.int16),
        np.frombuffer(b"abcd", np.uint8),
        np.frombuffer(b"abcdefghi", np.uint8)[1:].view(np.int64),
        np.zeros((4, 4))[:, ::2],
        rows,
        rows[1],
        (1, (np.zeros(2), 2)),
        PacketArrays(*[np.zeros(1, np.int64)] * 6),
    )
    assert tuple(_kind(text_of(each)) for each in found) == found
    assert [text_of(each) for each in found[6:12]] == [
        "int16[:]",
        "const uint8[:]",
        "unaligned const int64[:]",
        "strided float64[:,:]",
        "kafkascope_parsers.tcp.state.SIDE[:]",
        "row kafkascope_parsers.tcp.state.SIDE",
    ]


def test_a_type_of_rows_that_no_module_names_is_refused() -> None:
    (rows,) = kinds(np.zeros(1, [("nobody", np.int8), ("else", np.int64)]))
    with pytest.raises(TypeError, match="no variable of a module has the type"):
        text_of(rows)


def test_a_call_may_promise_more_than_the_signature_that_fits() -> None:
    full, read_only = np.zeros(4), np.zeros(4)
    read_only.flags.writeable = False
    strided = np.zeros(8)[::2]
    few, many = kinds(full, (read_only, 1)), kinds(strided, (full, 1))
    both = merged(few, many)
    assert both == kinds(strided, (read_only, 1))
    assert merged(both, few) == merged(both, many) == both
    assert merged(few, many) not in (few, many)
    others = [(full, (full, 1.0)), (full, full), (full,), (np.zeros((2, 2)), (full, 1)), (np.zeros(4, "i8"), (full, 1))]
    assert [merged(few, kinds(*each)) for each in others] == [None] * len(others)
