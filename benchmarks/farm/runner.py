"""Runs a layer in a process of its own: counts what it did, kills it where a round hangs, and goes on behind a round
that ended it."""

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.farm.layer import Layer
from benchmarks.farm.vectors import ROOT

HANG_TIMES = 10
"""A round that takes this many times as long as the median of its layer hangs, ..."""
HANG_LEAST_S = 10.0
"""... where it takes at least this long: below, it is other processes that take the processor."""
WARM_UP_S = 600
MOST_DEATHS = 20
CACHE = ROOT / "build" / "numba-boundscheck"
_MEDIAN_OF = 200


@dataclass(slots=True)
class Figures:
    """What became of a layer. faults: what failed -> how often; first: what failed -> the line that says so first."""

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
    """What the user asked for. until: when to stop, by time.monotonic(); first: the first round."""

    seed: int
    first: int
    folder: Path
    until: float
    shrink_s: float


def run_layer(layer: Layer, inputs: int, order: Order) -> Figures:
    """Runs so many inputs, as far as the time allows."""
    figures = Figures(layer, order.seed)
    next_round = order.first
    while figures.inputs < inputs and time.monotonic() < order.until and figures.deaths <= MOST_DEATHS:
        next_round = _run_process(layer, inputs - figures.inputs, (next_round, order), figures)
    return figures


def _run_process(layer: Layer, inputs: int, now: tuple[int, Order], figures: Figures) -> int:
    """One process, until it has done the inputs or ends. Returns the round to go on with."""
    first, order = now
    number, is_ready = first, False
    seconds: list[float] = []
    resident: list[int] = []
    child = _start(layer, inputs, first, order)
    try:
        for line in _lines(child, layer, order):
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
        figures.note("hang: a round was killed", {"at": number})
        figures.deaths += 1
    finally:
        child.kill()
        status = child.wait()
    figures.growth_bytes = max(figures.growth_bytes, growth(resident))
    if figures.growth_bytes > layer.growth_mb << 20:
        figures.note("growth: the process's memory", {"at": number, "trace": f"{figures.growth_bytes >> 20} MiB"})
    if not is_ready:
        figures.note("the layer does not start", {"at": number, "trace": _log(layer, order)})
        figures.deaths = MOST_DEATHS + 1
    elif status > 0 or status in (-11, -6, -7, -8, -4):
        figures.note(f"death: status {status}", {"at": number, "trace": _log(layer, order)})
        figures.deaths += 1
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
    """By how much a process grew: from its second quarter to its last, in bytes."""
    quarter = len(resident) // 4
    if quarter < 5:
        return 0
    return int(statistics.median(resident[-quarter:]) - statistics.median(resident[quarter : 2 * quarter]))


def _start(layer: Layer, inputs: int, first: int, order: Order) -> "subprocess.Popen[bytes]":
    environment = dict(os.environ)
    if layer.is_checked:
        CACHE.mkdir(parents=True, exist_ok=True)
        environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(CACHE)}
    command = [sys.executable, "-m", "benchmarks.farm", "--child", "--layers", layer.name]
    command += ["--seed", str(order.seed), "--first", str(first), "--inputs", str(inputs)]
    command += ["--shrink", str(order.shrink_s), "--folder", str(order.folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment)


def _lines(child: "subprocess.Popen[bytes]", layer: Layer, order: Order) -> Iterator[dict[str, Any]]:
    """The lines of a process, until it ends or the time is over. TimeoutError where it is silent for too long."""
    assert child.stdout is not None
    limit, rest = float(WARM_UP_S), b""
    while time.monotonic() < order.until:
        ready, _, _ = select.select([child.stdout], [], [], min(limit, max(0.1, order.until - time.monotonic())))
        if not ready:
            if time.monotonic() >= order.until:
                return
            raise TimeoutError
        some = os.read(child.stdout.fileno(), 1 << 16)
        if not some:
            child.wait()
            return
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            yield json.loads(line)
        limit = layer.round_s + order.shrink_s


def _log(layer: Layer, order: Order) -> str:
    path = order.folder / f"{layer.name}.log"
    return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""
