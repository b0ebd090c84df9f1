"""The layer of the machine: processes that are killed, run out of something, lose their output, or run twice at once.

What must hold: a documented exit code and no traceback; no process is left; the dataset that was there is whole, or the
new one; the same command then succeeds, and leaves nothing behind it, in the temporary folder either.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.farm.checks import check_ledger
from benchmarks.farm.commands import DONE, INTERRUPTED, PART_FAILED, UNREADABLE, USAGE
from benchmarks.farm.layer import FaultError
from benchmarks.farm.vectors import FIXTURES

CAPTURE = FIXTURES / "captures" / "healthy_basic.pcap.zst"
BROKEN_PIPE = 141
COMMANDS = {
    "ingest": ("ingest", str(CAPTURE), "-o", "DATASET", "--overwrite"),
    "two jobs": ("ingest", str(CAPTURE), "-o", "DATASET", "--overwrite", "--jobs", "2"),
    "analyze": ("analyze", str(CAPTURE), "-o", "DATASET", "--overwrite", "--html", "FORM", "--jobs", "1"),
    "stories": ("stories", "DATASET"),
    "compact": ("compact", "DATASET"),
    "report": ("report", "DATASET", "--html", "FORM", "--overwrite"),
    "cut": ("cut", "DATASET", "-o", "PIECE", "--overwrite", "--api", "Metadata"),
}
LIMIT_S = 240
GONE_S = 20


@dataclass(frozen=True, slots=True)
class Trouble:
    """An event during a command. value: the share of its usual time after which it is killed, or the limit for
    `ulimit`; number: the signal."""

    kind: str
    command: str
    value: float
    number: int = 0


@dataclass(slots=True)
class _Place:
    """The files of the layer."""

    folder: Path
    usual_s: dict[str, float] = field(default_factory=dict)

    @property
    def dataset(self) -> Path:
        return self.folder / "out.kscope"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"

    def start(self, command: str, shell: str = 'exec "$@"', stdout: int | None = None) -> "subprocess.Popen[bytes]":
        form, piece = self.folder / "form.html", self.folder / "piece.pcapng"
        names = {"DATASET": str(self.dataset), "FORM": str(form), "PIECE": str(piece)}
        arguments = [names.get(part, part) for part in COMMANDS[command]]
        if command != "report":
            form.unlink(missing_ok=True)
        with self.output.open("ab") as file:
            return subprocess.Popen(
                ["sh", "-c", shell, "sh", sys.executable, "-m", "kafkascope_analyzer.cli", *arguments],
                stdout=file.fileno() if stdout is None else stdout,
                stderr=file.fileno(),
                env=os.environ | {"TMPDIR": str(self.temporary)},
                start_new_session=True,
            )

    def finish(self, process: "subprocess.Popen[bytes]") -> int:
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise FaultError("a command of a process of its own hangs") from error

    def processes(self) -> list[int]:
        """The processes that any command has left."""
        mark, found = f"TMPDIR={self.temporary}".encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


class MachineRounds:
    """A round: one command, and an event during it. An input is a run of it."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._place = _Place(folder)
        self._place.temporary.mkdir(parents=True)

    def warm_up(self) -> None:
        """Runs each command as it is, twice, as the first run compiles."""
        for _ in range(2):
            for command in ("analyze", *COMMANDS):
                start = time.monotonic()
                self._expect(command, (DONE,))
                self._place.usual_s[command] = time.monotonic() - start
        shutil.copytree(self._place.dataset, self._place.folder / "sound")

    def make(self, r: random.Random) -> Sequence[Trouble]:
        command = r.choice(list(COMMANDS))
        kind = r.choice(("kill", "kill", "kill", "memory", "files", "size", "closed", "pipe", "race"))
        value = {"memory": r.uniform(2e5, 4e6), "files": r.randint(4, 60), "size": r.choice((0, 2, 60, 2000))}
        signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
        return [Trouble(kind, command, value.get(kind, r.uniform(0, 1)), r.choice(signals) if kind == "kill" else 0)]

    def run(self, inputs: Sequence[Trouble], r: random.Random) -> None:
        for one in inputs:
            self._restore()
            _KINDS[one.kind](self._place, one)
            self._check(one)

    def smaller(self, one: Trouble) -> Iterator[Trouble]:
        return iter(())

    def write(self, inputs: Sequence[Trouble], stem: Path) -> None:
        stem.with_suffix(".txt").write_text("".join(f"{one}\n" for one in inputs), encoding="utf-8")

    def _restore(self) -> None:
        shutil.rmtree(self._place.dataset, ignore_errors=True)
        shutil.copytree(self._place.folder / "sound", self._place.dataset)
        self._place.output.write_bytes(b"")

    def _expect(self, command: str, allowed: Sequence[int]) -> None:
        code = self._place.finish(self._place.start(command))
        _check_code(self._place, code, allowed)

    def _check(self, one: Trouble) -> None:
        """No process is left; the dataset is whole; the command succeeds, and leaves nothing."""
        until = time.monotonic() + GONE_S
        while self._place.processes():
            if time.monotonic() > until:
                raise FaultError(f"a process is left behind: {one}")
            time.sleep(0.1)
        check_ledger(self._place.dataset)
        self._expect(one.command, (DONE,))
        check_ledger(self._place.dataset)
        left = sorted(os.listdir(self._place.temporary))
        if left:
            shutil.rmtree(self._place.temporary)
            self._place.temporary.mkdir()
            raise FaultError(f"the next run leaves something in the temporary folder: {left} {one}")


def _check_code(place: _Place, code: int, allowed: Sequence[int]) -> None:
    printed = place.output.read_bytes().decode("utf-8", "replace")
    if code not in allowed:
        raise FaultError(f"a command of a process of its own ends with {code}: {printed[-3000:]}")
    if "Traceback" in printed or "Exception ignored" in printed or "Fatal Python error" in printed:
        raise FaultError(f"a command of a process of its own prints a traceback: {printed[-4000:]}")


def _kill(place: _Place, one: Trouble) -> None:
    process = place.start(one.command)
    try:
        process.wait(one.value * place.usual_s[one.command])
    except subprocess.TimeoutExpired:
        process.send_signal(one.number)
    code = place.finish(process)
    _check_code(place, code, (DONE, INTERRUPTED, -one.number))


def _limited(option: str) -> Callable[[_Place, Trouble], None]:
    """The shell limits the command by this option of `ulimit`."""

    def run(place: _Place, one: Trouble) -> None:
        process = place.start(one.command, f'ulimit {option} {int(one.value)} && exec "$@"')
        _check_code(place, place.finish(process), (DONE, USAGE, UNREADABLE, PART_FAILED))

    return run


def _closed(place: _Place, one: Trouble) -> None:
    """Standard output, standard error, or both are closed, as in cron."""
    which = (">&-", "2>&-", "<&- >&- 2>&-")[int(one.value * 3)]
    process = place.start(one.command, f'exec "$@" {which}')
    _check_code(place, place.finish(process), (DONE, USAGE, BROKEN_PIPE))


def _pipe(place: _Place, one: Trouble) -> None:
    """The reader of the output ends at once."""
    read_end, write_end = os.pipe()
    process = place.start(one.command, stdout=write_end)
    os.close(write_end)
    os.close(read_end)
    _check_code(place, place.finish(process), (DONE, BROKEN_PIPE))


def _race(place: _Place, one: Trouble) -> None:
    """The same command twice at one place: one of them succeeds."""
    first = place.start(one.command)
    time.sleep(one.value)
    second = place.start(one.command)
    codes = sorted((place.finish(first), place.finish(second)))
    for code in codes:
        _check_code(place, code, (DONE, USAGE))
    if codes[0] != DONE:
        raise FaultError(f"of two runs none succeeds: {codes} {one}")


_KINDS: dict[str, Callable[[_Place, Trouble], None]] = {
    "kill": _kill,
    "memory": _limited("-v"),
    "files": _limited("-n"),
    "size": _limited("-f"),
    "closed": _closed,
    "pipe": _pipe,
    "race": _race,
}
