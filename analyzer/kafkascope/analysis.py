"""Runs `kafkascope analyze` in a process of its own, and turns what it says into Python's errors and warnings."""

import json
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TypedDict

from kafkascope_analyzer.cli.dataset_place import default_out
from kafkascope_analyzer.cli.exits import INTERRUPTED, NO_KAFKA, SPARK_FAILED, UNREADABLE
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_parsers.errors import CaptureError, SparkError, UsageError
from kafkascope_spark.stories.tables import CLIENTS

Place = str | PathLike[str]


class AnalyzeOptions(TypedDict, total=False):
    """Options of `kafkascope analyze`, which docs/commands.md explains."""

    overwrite: bool
    append: bool
    master: str
    remote: str
    jobs: int
    max_memory: str
    record_batches: bool
    records: bool
    payloads: bool
    hosts: Place
    capture_points: Place
    tls_keylog: Place | Sequence[Place]
    temporary: Place
    ignore: str | Sequence[str]
    stall: str


def run_analyze(captures: Place | Sequence[Place], out: Place | None, options: Mapping[str, object]) -> str:
    """Writes the dataset of the captures; returns its place. Errors as of `kafkascope.analyze`."""
    inputs = [str(place) for place in _listed(captures)]
    if not inputs:
        raise UsageError("name the captures to analyze")
    place = default_out(inputs[0]) if out is None else fspath(out)
    words = ["analyze", "-o", place, "-q", "--format", "json", *_as_words(options), "--", *inputs]
    code, said = _run([sys.executable, "-m", "kafkascope", *words])
    for line in said:
        if "warning" in line:
            warnings.warn(str(line["warning"]), stacklevel=3)
    sentence = next((str(line["error"]) for line in said if "error" in line), None)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if sentence is None and code not in (0, NO_KAFKA):
        raise RuntimeError("".join(str(line.get("text", "")) for line in said).rstrip())
    if code == SPARK_FAILED and Dataset.open(place).has(CLIENTS.stored_as):
        warnings.warn(str(sentence), stacklevel=3)  # of a part of the report
    elif code not in (0, NO_KAFKA):
        raise _error_of(code, str(sentence))
    return place


def _as_words(options: Mapping[str, object]) -> Iterator[str]:
    """The options as the command takes them; those that are None or False are left out."""
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            yield option
        elif value is not None and value is not False:
            yield from (f"{option}={one}" for one in _listed(value))


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _run(command: list[str]) -> tuple[int, list[dict[str, object]]]:
    """Runs the command; returns its exit code and what it wrote on standard error, a line of JSON each. Ctrl-C stops
    the command, and it removes what it had written."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        try:
            code = running.wait()
        except KeyboardInterrupt:
            running.send_signal(signal.SIGINT)
            running.wait()
            raise
        said.seek(0)
        return code, [_message(line) for line in said]


def _message(line: str) -> dict[str, object]:
    try:
        message = json.loads(line)
    except ValueError:
        return {"text": line}
    return message if isinstance(message, dict) else {"text": line}


def _error_of(code: int, sentence: str) -> Exception:
    """The error that an exit code of the command stands for."""
    if code == UNREADABLE:
        name, _, why = sentence.partition(": ")
        return CaptureError(why, name=name)
    return SparkError(sentence) if code == SPARK_FAILED else UsageError(sentence)
