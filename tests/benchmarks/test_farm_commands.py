"""A command of the farm that ends otherwise than it may is noticed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no installed package

from benchmarks.farm.commands import run_command
from benchmarks.farm.layer import FaultError


def test_an_exit_code_that_is_not_allowed_is_a_fault(tmp_path):
    with pytest.raises(FaultError, match="explain ends with 2"):
        run_command(["explain", str(tmp_path / "none.kscope"), "x"], tmp_path / "output.txt")
    assert b"none.kscope" in (tmp_path / "output.txt").read_bytes()
    ended = run_command(["explain", str(tmp_path / "none.kscope"), "x"], tmp_path / "output.txt", (2,))
    assert ended.code == 2
