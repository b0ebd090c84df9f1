"""The notebook's cells run one after the other, and each plot shows what its text says."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "from-capture-to-plots.ipynb"


def run_here(command: list[Any], *, elsewhere: Callable[..., Any] = subprocess.run, **options: Any) -> Any:
    """Our command line in this process, where Spark runs already; what else is asked for as it is."""
    program, *arguments = map(str, command)
    if program != "kafkascope":
        return elsewhere(command, **options)
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.spark
@pytest.mark.slow
def test_the_notebook_goes_from_a_capture_to_three_plots(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib.use("Agg")
    monkeypatch.setattr(subprocess, "run", run_here)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(ROOT)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    names: dict[str, object] = {}
    plots = []
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        plots.append(names.get("plot"))
    rate, phases, waited = names["rate"], names["phases"], names["waited"]
    assert set(rate.columns) == {1, 2, 3}
    assert (rate[3] == 0).sum() >= 10
    assert len(phases) == 6
    assert waited[waited["first_error_name"] == "CONNECTION_CLOSED"]["seconds"].min() > 10
    assert len({id(plot) for plot in plots if plot is not None}) == 3
