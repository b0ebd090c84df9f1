"""What the archive for executors holds, and what its command refuses; tests/spark/test_cluster.py runs with one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cli.executor_archive import packed_files


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("executors.zip", "name it OUT.tar.gz"), ("there.tar.gz", "--overwrite replaces a file")],
)
def test_a_place_that_does_not_fit_is_refused(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "there.tar.gz").write_text("something of the user's")
    done = CliRunner().invoke(app, ["pack-executors", str(tmp_path / name)])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("there.tar.gz", "something of the user's")
    ]


def test_the_archive_holds_what_executors_import_and_no_spark() -> None:
    names = {file.name for file in packed_files()}
    folders = {name.split("/")[1] for name in names}
    assert {"kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark"} <= folders
    assert {"numpy", "numpy.libs", "numba", "llvmlite", "pyarrow", "pandas", "zstandard", "lz4", "dateutil"} <= folders
    assert not {"pyspark", "duckdb", "rich", "typer", "pytest"} & folders
    assert "lib/kafkascope_parsers/schema/facts/000_Produce.json" in names
    assert any(name.startswith("lib/kafkascope-") and name.endswith("/METADATA") for name in names)
    assert not any(part in {"tests", "node_modules"} for name in names for part in name.split("/"))
