"""Kernels as numba makes them for us: checked where asked, without arrays of their own, loaded without the compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

from kafkascope_parsers.kernels import kernel

USES_ONE = """
import sys
import numpy as np
from kafkascope_parsers.capture.columns import uint32_at
buf = np.frombuffer(bytes([1, 2, 3, 4, 5]), np.uint8)
print(uint32_at(buf, int(sys.argv[1]), True), "numba.np.linalg" in sys.modules)
"""


def used_in_a_new_process(cache: Path, at: int, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    clean |= {"NUMBA_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", USES_ONE, str(at)]
    return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120, check=False)


def test_compiled_code_is_loaded_without_what_only_compiling_needs(tmp_path: Path) -> None:
    assert used_in_a_new_process(tmp_path, 1).stdout.split() == ["33752069", "True"]
    assert used_in_a_new_process(tmp_path, 1).stdout.split() == ["33752069", "False"]


def test_places_are_checked_where_numba_is_asked_to(tmp_path: Path) -> None:
    for _ in range(2):  # compiled, then loaded
        ran = used_in_a_new_process(tmp_path, 5, NUMBA_BOUNDSCHECK="1")
        assert ran.returncode == 1
        assert "IndexError" in ran.stderr


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_kernel_that_makes_an_array_is_refused() -> None:
    @kernel
    def copied(values):  # type: ignore[no-untyped-def]
        return values.copy().sum()

    with pytest.raises(NumbaError):
        copied(np.arange(3))


CALLS_ANOTHER = """
import sys
sys.path.insert(0, sys.argv[1])
from pair.outer import twice
print(twice(5))
"""


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    """numba itself looks only at the file of the kernel that is called."""
    package = tmp_path / "pair"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(
        "from kafkascope_parsers.kernels import kernel\nfrom pair.inner import factor\n\n\n"
        "@kernel\ndef twice(n):\n    return factor() * n\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for factor in (2, 30):
        (package / "inner.py").write_text(
            f"from kafkascope_parsers.kernels import kernel\n\n\n@kernel\ndef factor():\n    return {factor}\n"
        )
        command = [sys.executable, "-c", CALLS_ANOTHER, str(tmp_path)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        assert ran.stdout.split() == [str(5 * factor)]
