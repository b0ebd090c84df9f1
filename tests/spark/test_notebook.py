"""The notebook's cells run one after the other, and each plot shows what its text says."""

import json
import os
import sys
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "from-capture-to-plots.ipynb"


@pytest.mark.spark
def test_the_notebook_goes_from_a_capture_to_three_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib.use("Agg")
    command = tmp_path / "kafkascope"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkascope_analyzer.cli "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
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
