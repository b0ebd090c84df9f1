"""A copy of kafkascope in another folder with machine code, as a wheel installs it, needs no compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kafkascope_analyzer
import kafkascope_parsers
import kafkascope_spark
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.kernel_files import SHIPPED, SUFFIX
from kafkascope_parsers.kernel_signatures import listed_kernels
from kafkascope_parsers.kernels import listed_code

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces" / "path_cut.pcap.zst"
RUNS = """
import sys
from pathlib import Path

sys.modules["numba"] = sys.modules["llvmlite"] = None
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers import kernels

ingest([sys.argv[1]], sys.argv[2], IngestOptions(jobs=1))
print(kernels.__file__)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_copy_with_machine_code_has_the_same_rows_without_numba(tmp_path: Path) -> None:
    ingest([CAPTURE], tmp_path / "here.kscope", IngestOptions(jobs=1))
    copy = tmp_path / "copy"
    for package in (kafkascope_parsers, kafkascope_analyzer, kafkascope_spark):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(package.__path__[0], copy / package.__name__, ignore=ignored, copy_function=shutil.copyfile)
    (copy / "kafkascope_parsers" / SHIPPED.name).mkdir()
    for package in (kafkascope_parsers, kafkascope_analyzer):
        for kernel in listed_kernels(package.__name__):
            for name, path in listed_code(*kernel):
                shutil.copyfile(path, copy / "kafkascope_parsers" / SHIPPED.name / f"{name}{SUFFIX}")
    command = [sys.executable, "-c", RUNS, str(CAPTURE), str(tmp_path / "there.kscope")]
    environment = os.environ | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(copy / "kafkascope_parsers" / "kernels.py")]
    here, there = (Dataset.open(tmp_path / f"{name}.kscope") for name in ("here", "there"))
    for table in ("connections", "requests", "tcp_events"):
        assert here.read(table).equals(there.read(table)), table
