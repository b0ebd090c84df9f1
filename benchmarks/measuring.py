"""Runs a program and measures wall-clock time, processor time, and memory of it and of its workers.

peak_rss_mb is the largest resident set of any one process, as the kernel counts it (wait4: the program and every child
it waited for). peak_all_mb is the largest sum over the program and all its descendants at one time, shared pages
counted once (Pss), looked at every POLL_S seconds.

The kernel counts what a process was before it became the program, too: a copy of this one. So the process that measures
must stay small, and imports neither numpy nor anything of kafkascope; what it holds (some 20 MB) is the least that is
ever told.
"""

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of one run, and its exit code."""

    wall_s: float
    cpu_s: float
    peak_rss_mb: float
    peak_all_mb: float
    exit_code: int
    stderr: str


def run(command: list[str], scratch: Path) -> Run:
    """Runs the command, its standard output thrown away. scratch: a directory for its standard error."""
    said = scratch / "stderr.txt"
    with said.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
        watch = MemoryWatch(process.pid)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.stop()
    peak_rss = usage.ru_maxrss / 1000 if os.uname().sysname == "Linux" else usage.ru_maxrss / 1e6
    words = said.read_text(encoding="utf-8", errors="replace")[-2000:]
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, cpu, peak_rss, max(watch.peak_kb / 1000, peak_rss), process.returncode, words)


class MemoryWatch(threading.Thread):
    """Samples the memory of a process and its descendants until it is stopped; peak_kb is the largest sum."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._done = pid, threading.Event()
        self.peak_kb = 0

    def run(self) -> None:
        while not self._done.wait(POLL_S):
            self.peak_kb = max(self.peak_kb, sum(_pss_kb(pid) for pid in descendants(self._pid)))

    def stop(self) -> None:
        self._done.set()
        self.join()


def descendants(pid: int) -> list[int]:
    """The process and all living processes that it started, directly or not."""
    found = [pid]
    for at in found:
        for children in Path(f"/proc/{at}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found


def _pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
