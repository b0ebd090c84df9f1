"""Kernels as numba makes them for us: checked where asked, without arrays of their own, loaded without numba."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from kafkascope_parsers import kernel_target
from kafkascope_parsers.capture.columns import uint32_at
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.kernel_instruction import prefetch
from kafkascope_parsers.kernels import COMPILES, kernel

USES_ONE = """
import sys
import numpy as np
from kafkascope_parsers.capture.columns import uint32_at
buf = np.frombuffer(bytes([1, 2, 3, 4, 5]), np.uint8)
print(uint32_at(buf, int(sys.argv[1]), True), *({"numba", "llvmlite"} & {*sys.modules}))
"""


def used_in_a_new_process(cache: Path, at: int, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    clean |= {"NUMBA_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", USES_ONE, str(at)]
    return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_compiled_code_is_loaded_without_numba(tmp_path: Path) -> None:
    first, second = (used_in_a_new_process(tmp_path, 1).stdout.split() for _ in range(2))
    assert sorted(first) == ["33752069", "llvmlite", "numba"]
    assert second == ["33752069"]


@pytest.mark.slow
def test_places_are_checked_where_numba_is_asked_to(tmp_path: Path) -> None:
    for _ in range(2):  # compiled, then loaded
        ran = used_in_a_new_process(tmp_path, 5, NUMBA_BOUNDSCHECK="1")
        assert ran.returncode == 1
        assert "IndexError" in ran.stderr


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_a_kernel_that_makes_an_array_is_refused() -> None:
    @kernel
    def copied(values):  # type: ignore[no-untyped-def]
        return values.copy().sum()

    with pytest.raises(NumbaError):
        copied(np.arange(3))


LARGE = np.arange(1_000_000)


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_a_kernel_that_names_a_large_array_is_refused() -> None:
    """Its machine code would hold the place of the array in this process."""

    @kernel
    def picked(i):  # type: ignore[no-untyped-def]
        return LARGE[i]

    with pytest.raises(TypeError, match="picked names a large array"):
        picked(1)


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_without_numba_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def added(n):  # type: ignore[no-untyped-def]
        return n + 1

    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(UsageError, match=r"added has to be compiled.*: pip install 'kafkascope\[compile\]'$"):
        added(1)


def test_an_older_processor_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what numpy lists, of a processor with SSE 4.1; numpy 2.4 names levels, older ones instructions."""
    monkeypatch.setattr(kernel_target, "target", lambda: kernel_target._TARGETS["x86_64"])
    for not_found in (["SSE42", "AVX", "AVX2"], ["X86_V2", "X86_V3"]):
        found = {"SIMD Extensions": {"baseline": ["SSE2"], "not found": not_found}}
        monkeypatch.setattr(np, "show_config", lambda mode, found=found: found)
        with pytest.raises(UsageError, match=f"level x86-64-v2: this one lacks {not_found[0]}"):
            kernel_target.check_processor.__wrapped__()


class Pair(NamedTuple):
    first: NDArray[np.int64]
    second: int


ROWS = np.zeros(2, np.dtype((np.record, np.dtype([("small", np.uint8), ("large", np.int64)], align=True))))


@kernel
def described(values, pair, row, number, factor, is_negative, nothing=None, step=2):  # type: ignore[no-untyped-def]
    """Reads arguments of each kind, and writes to an array and to a row."""
    pair.first[0] = values[1, 2]
    row.large += pair.second
    total = np.int64(number) + step + (1 if nothing is None else 0)
    return total, factor * 2, not is_negative, values.shape[1], row.large


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_of_each_kind_arrive_as_in_python(order: Literal["C", "F"]) -> None:
    values = np.arange(12, dtype=np.int32).reshape(3, 4).copy(order)
    results, written = [], []
    for function in (described, getattr(described, "py_func", described)):
        rows, first = ROWS.copy(), np.zeros(1, np.int64)
        for part in (values, values[::-1, 1:]):
            results.append(function(part, Pair(first, 7), rows[1], np.uint8(5), 0.25, np.bool_(False), step=-9))
            written.append((int(first[0]), rows.tolist()))
    assert results[:2] == results[2:] == [(-3, 0.5, True, 4, 7), (-3, 0.5, True, 3, 14)]
    assert written[:2] == written[2:] == [(6, [(0, 0), (0, 7)]), (7, [(0, 0), (0, 14)])]


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
@pytest.mark.parametrize("value", ["text", [1], 1 << 64, 1j])
def test_what_no_kernel_takes_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a kernel cannot be called with"):
        uint32_at(np.zeros(4, np.uint8), value, True)


@kernel
def summed(values, ahead):  # type: ignore[no-untyped-def]
    """The sum of values, each of which is read after a place that lies so many items ahead was asked for."""
    total = 0
    for i in range(len(values)):
        prefetch(values, i + ahead)
        total += values[i]
    return total


@pytest.mark.parametrize("ahead", [8, -(1 << 40), 1 << 61])
def test_a_place_outside_of_an_array_may_be_asked_for_and_is_not_read(ahead: int) -> None:
    assert summed(np.arange(100), ahead) == getattr(summed, "py_func", summed)(np.arange(100), ahead) == 4950
