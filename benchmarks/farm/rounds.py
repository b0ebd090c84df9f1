"""The process that runs rounds: it is told layer after layer, and each round has a seed of its own.

Tasks come as lines of JSON on standard input. Lines of JSON go out: `ready` after a layer's warm-up; `round` begins;
`done` with the seconds that it took and the process's resident bytes; `fault` with what failed; `end` of the task.
Whatever the program prints goes to a file. A round that kills this process is known by its `round` line alone. One
process has one Spark session, for all layers.
"""

import hashlib
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.farm.layer import FaultError, Layer, Rounds
from benchmarks.farm.shrinking import fewest, smallest

PACKAGES = ("kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark")


@dataclass(frozen=True, slots=True)
class Task:
    """The rounds to run: from `first` on until that many inputs are done. shrink_s: the time for making a failing round
    small; folder: for files and faults."""

    layer: str
    seed: int
    first: int
    inputs: int
    shrink_s: float
    folder: str


def serve(layers: Mapping[str, Layer], log: Path) -> None:
    """Runs the tasks that come on standard input, until it ends."""
    say = _apart_from_output(log)
    for line in sys.stdin:
        task = Task(**json.loads(line))
        run_rounds(layers[task.layer], task, say)
        _say(say, end=True)


def run_rounds(layer: Layer, task: Task, say: TextIO) -> None:
    """Runs the rounds of a task in this process. Raises what the warm-up raises."""
    rounds = layer.open(Path(task.folder) / "files" / layer.name)
    rounds.warm_up()
    _say(say, ready=True)
    number, done, shrunk = task.first, 0, set[str]()
    while done < task.inputs:
        done += _round(layer, rounds, task, (number, say, shrunk))
        number += 1


def _round(layer: Layer, rounds: Rounds, task: Task, now: tuple[int, TextIO, set[str]]) -> int:
    number, say, shrunk = now
    _say(say, round=number)
    r = generator(task.seed, layer.name, number)
    inputs = rounds.make(r)
    state, start = r.getstate(), time.perf_counter()
    error = _failure(rounds, inputs, state)
    seconds = time.perf_counter() - start
    if error is not None:
        name = signature(error)
        trace = "".join(traceback.format_exception(error))
        kept: Sequence[Any] = ()
        if name not in shrunk:
            shrunk.add(name)
            kept = _small(rounds, inputs, (state, name), task.shrink_s)
            stem = fault_folder(Path(task.folder), layer.name, name) / "input"
            stem.parent.mkdir(parents=True, exist_ok=True)
            rounds.write(kept, stem)
        _say(say, fault=name, at=number, trace=trace[-8000:], kept=len(kept))
    _say(say, done=len(inputs), seconds=seconds, resident=_resident_bytes())
    return len(inputs)


def generator(seed: int, layer: str, number: int) -> random.Random:
    """The generator of a round."""
    return random.Random(f"{seed} {layer} {number}")


def fault_folder(folder: Path, layer: str, name: str) -> Path:
    """Where the input of a fault is written."""
    return folder / "faults" / f"{layer}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _failure(rounds: Rounds, inputs: Sequence[Any], state: Any) -> Exception | None:
    r = random.Random()
    r.setstate(state)
    try:
        rounds.run(inputs, r)
    except Exception as error:  # noqa: BLE001 - whatever comes through is what the farm looks for
        return error
    return None


def _small(rounds: Rounds, inputs: Sequence[Any], same: tuple[Any, str], seconds: float) -> Sequence[Any]:
    """The inputs of a failing round, made small in the time given."""
    state, name = same

    def fails(some: Sequence[Any]) -> bool:
        error = _failure(rounds, some, state)
        return error is not None and signature(error) == name

    until = time.monotonic() + seconds
    if not fails(inputs):
        return inputs  # not the same the second time: what was before it matters
    kept = fewest(inputs, fails, until)
    return [smallest(kept[0], rounds.smaller, fails, until)] if len(kept) == 1 else kept


def signature(error: BaseException) -> str:
    """The name of a failure: the message of the farm's check up to its first colon; else the exception and the
    program's last function in its traceback."""
    if isinstance(error, FaultError):
        return str(error).partition(": ")[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(package in frame.filename for package in PACKAGES)]
    last = (ours or list(frames))[-1]
    return f"{type(error).__name__} in {Path(last.filename).stem}.{last.name}, line {last.lineno}"


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _apart_from_output(log: Path) -> TextIO:
    """The pipe to the parent; standard output and standard error go to a file from now on."""
    log.parent.mkdir(parents=True, exist_ok=True)
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    return pipe


def _say(pipe: TextIO, **line: Any) -> None:
    pipe.write(json.dumps(line) + "\n")
    pipe.flush()
