"""Runs a layer in a separate process: counts the results, kills the process if a round hangs, and continues after a
round that ended it."""

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.farm.layer import Layer
from benchmarks.farm.rounds import Task
from benchmarks.farm.vectors import ROOT

HANG_TIMES = 10
"""A round that takes this many times as long as the median of its layer hangs, ..."""
HANG_LEAST_S = 10.0
"""... where it takes at least this long: below, it is other processes that take the processor."""
WARM_UP_S = 600
MOST_DEATHS = 20
_MEDIAN_OF = 200


@dataclass(slots=True)
class Figures:
    """The results of a layer. faults: name of a failure -> number; first: name of a failure -> its first line of
    output."""

    layer: Layer
    seed: int
    inputs: int = 0
    rounds: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    median_s: float = 0.0
    growth_bytes: int = 0
    deaths: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    first: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, name: str, line: dict[str, Any]) -> None:
        """Counts a fault."""
        self.faults[name] = self.faults.get(name, 0) + 1
        self.first.setdefault(name, line)


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for. size: smoke, usual or long; first: the first round; until: when to stop, by
    time.monotonic()."""

    seed: int
    size: str
    first: int
    folder: Path
    until: float
    shrink_s: float


class Worker:
    """A process that runs rounds (rounds.serve)."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log, self._rest = log, b""
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=dict(environment)
        )

    def begin(self, task: Task) -> None:
        """Gives it a task."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
        self._process.stdin.flush()

    def lines(self, round_s: float, until: float) -> Iterator[dict[str, Any]]:
        """Its reports on the task, until that is done, the process ends or the time is over. Raises TimeoutError if no
        report comes for longer than a warm-up and then a round may take."""
        assert self._process.stdout is not None
        limit = float(WARM_UP_S)
        while time.monotonic() < until:
            patience = min(limit, max(0.1, until - time.monotonic()))
            ready, _, _ = select.select([self._process.stdout], [], [], patience)
            if not ready:
                if time.monotonic() >= until:
                    return
                raise TimeoutError
            some = os.read(self._process.stdout.fileno(), 1 << 16)
            if not some:
                return
            *lines, self._rest = (self._rest + some).split(b"\n")
            for line in map(json.loads, lines):
                if "end" in line:
                    return
                yield line
            limit = round_s

    def ended(self) -> int | None:
        """Its exit status; None while it runs."""
        try:
            return self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def printed(self) -> str:
        """The end of the program's output there."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:] if self._log.exists() else ""


class Workers:
    """The processes: one for kernels that check every index, one for those that do not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers: dict[bool, Worker] = {}

    def get(self, is_checked: bool) -> Worker:
        if is_checked not in self._workers:
            environment = dict(os.environ)
            if is_checked:
                environment["NUMBA_BOUNDSCHECK"] = "1"
            log = self._folder / f"{'checked' if is_checked else 'unchecked'}-{os.getpid()}-{id(self)}.log"
            command = [sys.executable, "-m", "benchmarks.farm", "--child", str(log)]
            self._workers[is_checked] = Worker(command, environment, log)
        return self._workers[is_checked]

    def ended(self, is_checked: bool) -> int | None:
        """The exit status of one that has ended by itself, which is then removed; None if none has."""
        worker = self._workers.get(is_checked)
        status = worker.ended() if worker is not None else None
        if status is not None:
            del self._workers[is_checked]
        return status

    def stop(self, is_checked: bool | None = None) -> None:
        """Stops one, or all."""
        for key in [key for key in self._workers if is_checked in (None, key)]:
            self._workers.pop(key).stop()


def run_layer(layer: Layer, inputs: int, order: Order, workers: Workers) -> Figures:
    """Runs that many inputs, or fewer if the time is over."""
    figures = Figures(layer, order.seed)
    next_round = order.first
    while figures.inputs < inputs and time.monotonic() < order.until and figures.deaths <= MOST_DEATHS:
        task = Task(layer.name, order.seed, next_round, inputs - figures.inputs, order.shrink_s, str(order.folder))
        next_round = _run_task(layer, task, (order, workers), figures)
    return figures


def _run_task(layer: Layer, task: Task, by: tuple[Order, Workers], figures: Figures) -> int:
    """A task, until it is done or its process ends. Returns the round to go on with."""
    order, workers = by
    is_checked = order.size not in layer.unchecked
    worker = workers.get(is_checked)
    number, is_ready = task.first, False
    seconds: list[float] = []
    resident: list[int] = []
    try:
        worker.begin(task)
        for line in worker.lines(layer.round_s + order.shrink_s, order.until):
            if "round" in line:
                number = line["round"]
            elif "fault" in line:
                figures.note(line["fault"], line)
            elif "done" in line:
                seconds.append(line["seconds"])
                resident.append(line["resident"])
                _count(figures, line, seconds)
            is_ready = is_ready or "ready" in line
    except TimeoutError:
        workers.stop(is_checked)
        figures.note("hang: a round was killed", {"at": number, "trace": worker.printed()})
        figures.deaths += 1
    except BrokenPipeError:
        pass  # its end is noted below
    else:
        is_ready = is_ready or time.monotonic() >= order.until
    if (status := workers.ended(is_checked)) is not None:
        name = f"death: status {status}" if is_ready else "the layer does not start"
        figures.note(name, {"at": number, "trace": worker.printed()})
        figures.deaths += 1 if is_ready else MOST_DEATHS + 1
    figures.growth_bytes = max(figures.growth_bytes, growth(resident))
    if figures.growth_bytes > layer.growth_mb << 20:
        figures.note("growth: the process's memory", {"at": number, "trace": f"{figures.growth_bytes >> 20} MiB"})
    return number + 1


def _count(figures: Figures, line: dict[str, Any], seconds: list[float]) -> None:
    took = line["seconds"]
    figures.inputs += line["done"]
    figures.rounds += 1
    figures.seconds += took
    figures.slowest_s = max(figures.slowest_s, took)
    figures.median_s = statistics.median(seconds[-_MEDIAN_OF:])
    if took > max(HANG_LEAST_S, HANG_TIMES * figures.median_s):
        figures.note("slow: a round took more than ten times the median", {"at": figures.rounds, "seconds": took})


def growth(resident: list[int]) -> int:
    """The growth of a process from its second quarter to its last, in bytes."""
    quarter = len(resident) // 4
    if quarter < 5:
        return 0
    return int(statistics.median(resident[-quarter:]) - statistics.median(resident[quarter : 2 * quarter]))
