"""The notebook's cells run one after the other and show what the notebook keeps; each plot shows what its text says."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "from-capture-to-plots.ipynb"


def as_text(outputs: list[dict[str, Any]]) -> list[str]:
    return ["".join(output["data"]["text/plain"]) for output in outputs]


@pytest.mark.spark
@pytest.mark.lab
def test_the_notebook_goes_from_a_capture_to_three_plots(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load_module: Callable[[Path], ModuleType]
) -> None:
    matplotlib.use("Agg")
    runner = load_module(ROOT / "scripts" / "notebook_outputs.py")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(ROOT)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = list(runner.outputs_of(cells, names))
    stale = "run scripts/notebook_outputs.py docs/from-capture-to-plots.ipynb"
    assert [as_text(outputs) for outputs in shown] == [as_text(cell["outputs"]) for cell in cells], stale
    rate, phases, waited = names["rate"], names["phases"], names["waited"]
    assert set(rate.columns) == {1, 2, 3}
    assert (rate[3] == 0).sum() >= 10
    assert len(phases) == 6
    assert waited[waited["first_error_name"] == "CONNECTION_CLOSED"]["seconds"].min() > 10
    pictures = {output["data"]["image/png"] for outputs in shown for output in outputs if "image/png" in output["data"]}
    assert len(pictures) == 3
