"""A few mutated captures go through all of `analyze` and the commands behind it, and a run that fails is noticed."""

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no installed package

from benchmarks.farm.commands import run_command
from benchmarks.farm.layer import FaultError
from benchmarks.farm.registry import LAYERS
from benchmarks.farm.rounds import generator


@pytest.mark.spark
@pytest.mark.parametrize("name", ["fields", "logins"])
def test_a_mutated_capture_goes_through_every_command(spark, name, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the rounds set both, to see what is left there
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rounds = LAYERS[name].open(tmp_path / name)
    r = generator(1, name, 0)
    rounds.run(rounds.make(r), r)
    assert (tmp_path / name / "run" / "out.kscope" / "report.json").exists()
    assert (tmp_path / name / "run" / "report.perfetto").exists()


def test_an_exit_code_that_is_not_allowed_is_a_fault(tmp_path):
    with pytest.raises(FaultError, match="explain ends with 2"):
        run_command(["explain", str(tmp_path / "none.kscope"), "x"], tmp_path / "output.txt")
    assert b"none.kscope" in (tmp_path / "output.txt").read_bytes()
    ended = run_command(["explain", str(tmp_path / "none.kscope"), "x"], tmp_path / "output.txt", (2,))
    assert ended.code == 2
