"""What the archive for executors holds, and what its command refuses; tests/spark/test_cluster.py runs with one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli import executor_archive
from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cli.executor_archive import packed_files, write_executor_archive


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
    assert {"numpy", "numpy.libs", "pyarrow", "pandas", "zstandard", "lz4", "dateutil"} <= folders
    assert not {"numba", "llvmlite", "pyspark", "duckdb", "rich", "typer", "pytest"} & folders
    assert "lib/kafkascope_parsers/schema/facts/000_Produce.json" in names
    assert any(name.startswith("lib/kafkascope-") and name.endswith("/METADATA") for name in names)
    assert not any(part in {"tests", "node_modules"} for name in names for part in name.split("/"))


USES_A_KERNEL = """
import sys
from pathlib import Path
import numpy as np
import kafkascope_parsers
from kafkascope_parsers import kernel_files
from kafkascope_parsers.capture.columns import uint32_at

sys.modules["numba"] = None
value = uint32_at(np.array([1, 2, 3, 4], np.uint8), 0, True)
print(Path(kafkascope_parsers.__file__).parent, value, len([*kernel_files.SHIPPED.iterdir()]))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_what_is_unpacked_elsewhere_has_its_python_and_its_compiled_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parsers alone: all else that an archive holds are files of the same kind, and many. Where it is unpacked, its
    user's new files may be written by a group."""
    parsers = [file for file in packed_files() if file.name.startswith("lib/kafkascope_parsers/")]
    monkeypatch.setattr(executor_archive, "packed_files", lambda: parsers)
    content = write_executor_archive(tmp_path / "executors.tar.gz")
    (tmp_path / "env").mkdir()
    unpack = ["tar", "-xzf", tmp_path / "executors.tar.gz", "-C", tmp_path / "env"]
    subprocess.run(unpack, check=True, umask=0o002)
    environment = os.environ | {"KAFKASCOPE_PYTHON": sys.executable, "PYTHONPATH": "", "NUMBA_CACHE_DIR": ""}
    command = [str(tmp_path / "env" / "bin" / "python"), "-c", USES_A_KERNEL]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = [tmp_path / "env" / "lib" / "kafkascope_parsers", 16909060, content.n_kernels]
    assert done.stdout.split() == [str(each) for each in expected]
    assert content.n_kernels > 0
