"""What makes commands start faster still works with the libraries that are installed. benchmarks/startup.py shows what
it buys."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

CAPTURE = Path(__file__).resolve().parents[3] / "fixtures/captures/healthy_basic.pcap.zst"

LOADED_BY_LISTS = """
import json, sys
from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
if {hidden}:
    arrow_without_pandas()
import pyarrow as pa
pa.array([1, 2])
before = "pandas" in sys.modules
frame = pa.table({{"n": [1, 2]}}).to_pandas()
print(json.dumps([before, int(frame["n"].sum())]))
"""
"""Whether pyarrow has loaded pandas to make an array of a list; and that it finds pandas when it is asked for."""


@pytest.mark.parametrize("hidden", [True, False])
def test_arrow_loads_pandas_only_where_it_is_asked_for(hidden: bool) -> None:
    """Without `arrow_without_pandas` pyarrow loads pandas for any list. When it no longer does, the function can go."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_LISTS.format(hidden=hidden)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [not hidden, 3]


ENDED = """
import atexit, sys
from kafkascope_analyzer.cli.startup import end_process
atexit.register(print, "handler")
print("output")
end_process({code!r})
"""


@pytest.mark.parametrize(("code", "shown"), [(None, 0), (0, 0), (3, 3), ("a message", 1)])
def test_a_process_that_is_ended_runs_its_exit_handlers_and_writes_its_output(code: object, shown: int) -> None:
    done = subprocess.run([sys.executable, "-c", ENDED.format(code=code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (shown, "output\nhandler\n")


SAID = """
import sys
from kafkascope_analyzer.cli.app import app
app(["info", sys.argv[1]], standalone_mode=False)
heavy = ("pandas", "pyarrow", "duckdb", "pyspark", "kafkascope_spark", "numba", "kafkascope_analyzer.cli.analyze")
print(*(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


def test_saying_what_is_in_a_capture_loads_no_database_no_spark_and_no_compiler() -> None:
    """They take as long to load as the rest of the command. The first run here may be the one that compiles."""
    CliRunner().invoke(app, ["info", str(CAPTURE)])
    done = subprocess.run([sys.executable, "-c", SAID, str(CAPTURE)], capture_output=True, text=True, check=True)
    assert "10.77.0.11:9092" in done.stdout
    assert done.stderr.split() == []


INGEST_ENDS = """
import sys
import kafkascope_analyzer.report.terminal.overview
from kafkascope_analyzer.cli.fail_on import end_if_incomplete
from kafkascope_analyzer.report.model.failed_sections import empty
from kafkascope_analyzer.report.model.traffic import Traffic
end_if_incomplete(empty(Traffic))
print(*(name for name in sys.modules if name.startswith("kafkascope_analyzer.report.model.")))
"""


def test_the_end_of_ingest_loads_no_report_of_stories() -> None:
    """That takes as long as the ingest of a small capture, and an append has it each hour."""
    done = subprocess.run([sys.executable, "-c", INGEST_ENDS], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("kafkascope_analyzer.report.model.") for name in done.stdout.split()}
    assert "traffic" in loaded
    assert loaded.isdisjoint({"report", "clusters", "incidents.model", "incidents.summary"})


QUESTION = """
import sys
from kafkascope_analyzer.cli.app import app
app(["info", sys.argv[1]], standalone_mode=False)
print(*(name for name in ("pandas", "pyspark", "numba") if name in sys.modules), file=sys.stderr)
"""


def test_reading_a_dataset_loads_no_pandas(told_leader_move: Path) -> None:
    """It takes as long to load as the queries of a small dataset."""
    done = subprocess.run(
        [sys.executable, "-c", QUESTION, str(told_leader_move)], capture_output=True, text=True, check=True
    )
    assert "node 1" in done.stdout
    assert done.stderr.split() == []
