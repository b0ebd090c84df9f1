"""What makes commands start faster still works with the libraries that are installed. benchmarks/startup.py shows what
it buys."""

import json
import subprocess
import sys

import pytest

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
