"""Commands of kafkascope in this process, as the command line runs them, with their output in a file.

They run one after the other in one process, which has one Spark session, so that thousands of them are affordable.
What a new process adds (imports, the start of Java, its end) is the machine's layer.
"""

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from benchmarks.farm.layer import FaultError

from kafkascope_analyzer.cli.app import app

DONE, FOUND, USAGE, UNREADABLE, PART_FAILED, NO_KAFKA = range(6)
INTERRUPTED = 130
_VARIABLE = re.compile(r"[0-9a-f]{6,}|\d+|'[^']*'|\"[^\"]*\"|/\S+")


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code of a command, and its standard output and standard error."""

    code: int
    output: bytes


def run_command(arguments: Sequence[str], output: Path, allowed: Sequence[int] = (DONE,)) -> Ended:
    """Runs a command. Raises FaultError if its exit code is not allowed, or if it prints a traceback; exceptions of the
    program are not caught."""
    code, cause = 0, ""
    with _output_to(output):
        try:
            app(list(arguments), prog_name="kafkascope")
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            cause = "".join(traceback.format_exception(ended)) if code not in allowed else ""
    if code == INTERRUPTED and code not in allowed:
        raise KeyboardInterrupt  # it is the farm that is to end
    printed = output.read_bytes()
    if code not in allowed:
        said = printed.decode("utf-8", "replace").strip().splitlines()
        sentence = _VARIABLE.sub("_", said[-1] if said else "nothing").replace(": ", " - ")
        raise FaultError(f"{arguments[0]} ends with {code} - {sentence[:160]}: {' '.join(arguments)}\n{cause[-6000:]}")
    if b"Traceback (most recent call last)" in printed:
        raise FaultError(f"{arguments[0]} prints a traceback: {printed[-4000:].decode('utf-8', 'replace')}")
    return Ended(code, printed)


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Standard output and standard error, of what is not Python too, go to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as text, redirect_stdout(text), redirect_stderr(text):
            yield
    finally:
        for number, saved in enumerate(kept, 1):
            os.dup2(saved, number)
            os.close(saved)
