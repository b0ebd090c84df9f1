"""Runs a notebook's cells in this process and saves their outputs in it: the value of the last expression, and plots.

    .venv/bin/python scripts/notebook_outputs.py docs/from-capture-to-plots.ipynb

A test runs the same cells and compares their outputs as text.
"""

import ast
import base64
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def outputs_of(cells: list[dict[str, Any]], names: dict[str, Any]) -> Iterator[list[Output]]:
    """The outputs of each cell, in nbformat. names: the notebook's variables, which cells read and set."""
    import matplotlib.pyplot as plt

    for number, cell in enumerate(cells):
        value = value_of("".join(cell["source"]), f"cell {number}", names)
        plots = [plot_output(plt.figure(figure)) for figure in plt.get_fignums()]
        plt.close("all")
        yield [*([] if value is None else [value_output(value, number + 1)]), *plots]


def value_of(source: str, name: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last statement, after all statements have run, if it is an expression; else None."""
    module = ast.parse(source, name)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    exec(compile(module, name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307 - the notebook's own code


def value_output(value: Any, number: int) -> Output:
    """A value as Jupyter shows it: as text, and as HTML where it has such a form."""
    data = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}


def plot_output(figure: Any) -> Output:
    """A plot as a picture."""
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight", dpi=72, metadata={"Software": None})
    return {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": lines("<a plot>")},
        "metadata": {},
    }


def lines(text: str) -> list[str]:
    """The text as nbformat has it: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def main(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    notebook = json.loads(path.read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, outputs_of(cells, {}), strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
