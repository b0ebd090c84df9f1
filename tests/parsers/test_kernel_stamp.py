"""Machine code on disk is used for what it was compiled from, wherever that lies, and for nothing else."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kafkascope_parsers import kernel_files, kernel_stamp, kernels
from kafkascope_parsers.compilation import on_compilation
from kafkascope_parsers.kernel_arguments import take_apart
from kafkascope_parsers.kernel_target import Target

SHAPES = """
from enum import IntEnum
from typing import NamedTuple

class Pair(NamedTuple):
    first: int
    second: int

class Kind(IntEnum):
    CLOSED = 4
"""
INNER = """
import numpy as np
from numba import types
from numba.extending import intrinsic
from llvmlite import ir
from kafkascope_parsers.kernels import inlined, kernel

STEP = 5

@kernel
def innermost(n):
    return n + 6

@kernel
def called(n):
    return innermost(n)

@inlined
def copied(n):
    return n + 7

def added(amount):
    @intrinsic
    def step(typing_context, value):
        def generate(context, builder, signature, args):
            return builder.add(args[0], ir.Constant(ir.IntType(64), amount))
        return types.int64(types.int64), generate
    return step

plus_eight = added(8)
"""
OUTER = """
import numpy as np
from changing import inner, shapes
from changing.inner import called, copied, plus_eight
from changing.shapes import Kind, Pair
from kafkascope_parsers.kernels import kernel

NUMBER = 1
ARRAY = np.array([2, 3])
TUPLE = (3, 4)
SCALAR = np.uint64(9)

@kernel
def of_constant(n):
    return n + 10

@kernel
def of_global(n):
    return n + NUMBER

@kernel
def of_array(n):
    return n + ARRAY[1]

@kernel
def of_tuple(n):
    return n + TUPLE[1]

@kernel
def of_scalar(n):
    return n + np.int64(SCALAR)

@kernel
def of_module(n):
    return n + inner.STEP

@kernel
def of_called(n):
    return called(n)

@kernel
def of_copied(n):
    return copied(n)

@kernel
def of_intrinsic(n):
    return plus_eight(n)

@kernel
def of_fields(n):
    return Pair(n, 10 * n).second

@kernel
def of_member(n):
    return n + Kind.CLOSED.value

@kernel
def of_argument(pair):
    return pair.first

@kernel
def ping(n):
    return n if n < NUMBER else pong(n - 1)

@kernel
def pong(n):
    return n if n < 1 else n - 1
"""
VALUES = {
    "of_constant": 11,
    "of_global": 2,
    "of_array": 4,
    "of_tuple": 5,
    "of_scalar": 10,
    "of_module": 6,
    "of_called": 7,
    "of_copied": 8,
    "of_intrinsic": 9,
    "of_fields": 10,
    "of_member": 5,
    "of_argument": 1,
    "ping": 0,
}
"""What the kernels make of 1, or of Pair(1, 2)."""
CHANGES = [
    ("of_constant", "outer", "n + 10", "n + 20", 21),
    ("of_global ping", "outer", "NUMBER = 1", "NUMBER = 2", 3),
    ("of_array", "outer", "[2, 3]", "[2, 9]", 10),
    ("of_array", "outer", "np.array([2, 3])", "np.array([2, 3], np.int32)", 4),
    ("of_tuple", "outer", "(3, 4)", "(3, 9)", 10),
    ("of_scalar", "outer", "np.uint64(9)", "np.uint64(8)", 9),
    ("of_module", "inner", "STEP = 5", "STEP = 6", 7),
    ("of_called", "inner", "n + 6", "n + 9", 10),
    ("of_copied", "inner", "n + 7", "n + 9", 10),
    ("of_copied", "inner", "@inlined\ndef copied", "@kernel\ndef copied", 8),
    ("of_intrinsic", "inner", "added(8)", "added(9)", 10),
    ("of_fields", "shapes", "first: int\n    second", "second: int\n    first", 1),
    ("of_member", "shapes", "CLOSED = 4", "CLOSED = 9", 10),
    ("ping", "outer", "n - 1\n", "n - 2\n", None),
]
"""The kernels that a change makes different, the module, the change, and what the first of them makes of it."""
UNCHANGED = {
    "outer": [("\n@kernel", "\n\n# a comment\n@kernel"), ("return n + 10", '"""A docstring."""\n    return n + 10')],
    "inner": [("STEP = 5", "STEP = 5\nOTHER = 17\n\ndef unused():\n    return OTHER")],
    "shapes": [("CLOSED = 4", "CLOSED = 4  # a comment")],
}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Writes the three modules with a change into a new folder, imports them, and gives the outer one."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    folders: list[Path] = []

    def make(*changes: tuple[str, str, str]) -> ModuleType:
        forget()
        package = tmp_path / f"{len(folders)}" / "changing"
        package.mkdir(parents=True)
        folders.append(package.parent)
        (package / "__init__.py").touch()
        for name, text in (("shapes", SHAPES), ("inner", INNER), ("outer", OUTER)):
            for _, before, after in (change for change in changes if change[0] == name):
                assert before in text
                text = text.replace(before, after)
            (package / f"{name}.py").write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(package.parent)
            return importlib.import_module("changing.outer")

    def forget() -> None:
        for name in [each for each in sys.modules if each.partition(".")[0] == "changing"]:
            del sys.modules[name]

    yield make
    forget()


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the machine code."""
    folder = tmp_path / "kernels"
    folder.mkdir(0o700)
    monkeypatch.setattr(kernel_files, "user_folder", lambda: folder)
    return folder


def stamps(module: ModuleType) -> dict[str, str]:
    return {name: kernel_stamp.kernel_stamp(getattr(module, name)) for name in VALUES}


def run(module: ModuleType, name: str) -> tuple[int, int]:
    """What a kernel makes of 1, and how many kernels were compiled for that."""
    compiled: list[None] = []
    argument = module.Pair(first=1, second=2) if name == "of_argument" else 1
    with on_compilation(lambda: compiled.append(None)):
        return int(getattr(module, name)(argument)), len(compiled)


def test_a_copy_elsewhere_with_other_comments_and_functions_has_the_same_stamps(write) -> None:
    edits = [(name, *edit) for name, edits in UNCHANGED.items() for edit in edits]
    assert stamps(write()) == stamps(write(*edits))


@pytest.mark.parametrize(("kernels", "module", "before", "after", "value"), CHANGES)
def test_a_change_is_in_the_stamps_of_the_kernels_that_it_makes_different(
    write, kernels: str, module: str, before: str, after: str, value: int | None
) -> None:
    """Of no others."""
    old, new = stamps(write()), stamps(write((module, before, after)))
    assert {name for name in VALUES if old[name] != new[name]} == set(kernels.split())


@pytest.mark.slow
@pytest.mark.skipif(not kernels.COMPILES, reason="nothing is compiled")
def test_what_has_changed_is_compiled_again_and_a_copy_is_not(write, own_folder: Path) -> None:
    first = write()
    assert {name: run(first, name)[0] for name in VALUES} == VALUES
    copy = write(*((name, *edit) for name, edits in UNCHANGED.items() for edit in edits))
    assert {name: run(copy, name) for name in VALUES} == {name: (value, 0) for name, value in VALUES.items()}
    for names, module, before, after, value in CHANGES:
        name = names.split()[0]
        if value is not None:
            found, n_compiled = run(write((module, before, after)), name)
            assert (found, n_compiled > 0) == (value, True), (name, before, after)


@pytest.mark.skipif(not kernels.COMPILES, reason="nothing is compiled")
def test_the_order_of_an_arguments_fields_is_in_its_stamp(write, own_folder: Path) -> None:
    """numba's text for the type of a named tuple is that of its class and of the fields' types."""
    swap = ("shapes", "first: int\n    second", "second: int\n    first")
    for changes in ((), (swap,)):
        module = write(*changes)
        assert run(module, "of_argument") == (1, 1)


def test_the_bytecodes_version_and_settings_are_in_every_stamp(write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write()
    before = stamps(module)
    for change in (
        lambda patch: patch.setattr(kernel_stamp, "MAGIC_NUMBER", b"another"),
        lambda patch: patch.setenv("NUMBA_BOUNDSCHECK", "another"),
        lambda patch: patch.setenv("NUMBA_OPT", "1"),
    ):
        with monkeypatch.context() as patch:
            change(patch)
            after = stamps(module)
        assert not set(before.values()) & set(after.values())
    assert stamps(module) == before


def test_types_and_the_processor_are_in_the_stamp_of_a_call() -> None:
    aligned, packed = (np.dtype([("a", "u1"), ("b", "i8")], align=align) for align in (True, False))
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    called_with = [
        (1,),
        (np.int32(1),),
        (1, 1),
        ((1, 1),),
        (True,),
        (1.0,),
        (None,),
        (np.zeros(2),),
        (read_only,),
        (np.zeros((2, 2)),),
        (np.zeros((2, 2), order="F"),),
        (np.zeros(4)[::2],),
        (np.zeros(2, aligned),),
        (np.zeros(2, packed),),
        (np.zeros(2, aligned)[0],),
    ]
    kinds = [[take_apart(argument, []) for argument in arguments] for arguments in called_with]
    found = [kernel_stamp.call_stamp(kind, Target(cpu)) for kind in kinds for cpu in ("old", "new")]
    assert len(set(found)) == 2 * len(kinds)


@pytest.mark.parametrize("value", ["[1, 2]", "{1: 2}", "np.array([None])", "object()", "type('Own', (), {})"])
def test_what_a_stamp_cannot_describe_is_refused(write, value: str) -> None:
    with pytest.raises(TypeError, match="the stamp of a kernel cannot describe"):
        stamps(write(("outer", "ARRAY = np.array([2, 3])", f"ARRAY = {value}")))
