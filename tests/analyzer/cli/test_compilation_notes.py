"""The first run says that it compiles, and how far it is; later runs, and quiet ones, say nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkascope_analyzer.cli.compilation_notes import EACH, compilation_notes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_parsers.compilation import report_compilation


def test_it_is_said_at_the_first_kernel_and_then_now_and_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with compilation_notes(Messages()):
        for _ in range(EACH + 1):
            report_compilation()
    report_compilation()
    assert capsys.readouterr().err.splitlines() == [
        "compiling kernels (first run only) … 1",
        f"compiling kernels (first run only) … {EACH}",
    ]


def test_forked_processes_share_the_count(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with compilation_notes(Messages(is_json=True)):
        report_compilation()
        child = os.fork()
        if child == 0:
            report_compilation()
            os._exit(0)
        os.waitpid(child, 0)
        for _ in range(EACH - 2):
            report_compilation()
    lines = [json.loads(line)["note"] for line in capfd.readouterr().err.splitlines()]
    assert lines == [f"compiling kernels (first run only) … {n}" for n in (1, EACH)]


@pytest.mark.slow
def test_a_kernel_that_is_on_disk_is_not_compiled(tmp_path: Path) -> None:
    """With an empty cache the first process compiles, and the second finds what it has left."""
    program = (
        "from kafkascope_analyzer.cli.compilation_notes import compilation_notes\n"
        "from kafkascope_analyzer.cli.messages import Messages\n"
        "import sys\n"
        "import numpy\n"
        "sys.stderr.isatty = lambda: len(sys.argv) < 3\n"
        "with compilation_notes(Messages(quiet=len(sys.argv) == 2)):\n"
        "    from kafkascope_parsers.capture.columns import uint32_at\n"
        "    uint32_at(numpy.zeros(4, numpy.uint8), 0, True)\n"
    )

    def said(folder: str, *arguments: str) -> str:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / folder), "PYTHONIOENCODING": "utf-8"}
        environment.pop("NUMBA_DISABLE_JIT", None)
        call = [sys.executable, "-c", program, *arguments]
        return subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stderr

    assert said("a") == "compiling kernels (first run only) … 1\n"
    assert said("a") == ""
    assert said("b", "quiet") == ""
    assert said("c", "", "no terminal") == ""
