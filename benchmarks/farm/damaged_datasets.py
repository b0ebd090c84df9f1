"""The layer of damaged datasets: files that are missing, cut, flipped, empty or of another kind, and odd manifests.

A command says which file and ends with exit code 3; or it does not read the damaged file, and then it writes what it
writes of the sound dataset. Without its manifest a folder is no dataset, and a command that is given one ends with exit
code 2.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.farm.commands import DONE, UNREADABLE, USAGE, Ended, run_command
from benchmarks.farm.layer import FaultError
from benchmarks.farm.vectors import FIXTURES

BASE = FIXTURES / "findings" / "thrown_out.pcap.zst"
MANIFEST = "_dataset.json"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("report", "DATASET", "--format", "plain"),
    ("report", "DATASET", "--json", "-"),
    ("report", "DATASET", "--markdown", "-"),
    ("report", "DATASET", "--perfetto", "-"),
    ("timeline", "DATASET", "--format", "json"),
    ("timeline", "DATASET", "--start", "--format", "plain"),
    ("topology", "DATASET", "--format", "json"),
    ("info", "DATASET", "--format", "json"),
    ("diff", "DATASET", "DATASET", "--format", "json"),
    ("sql", "DATASET", "select * from requests order by all", "--format", "jsonl"),
    ("sql", "DATASET", "select * from connections order by all", "--format", "csv"),
    ("sql", "DATASET", "select count(*) from events", "--format", "csv"),
    ("sql", "DATASET", "--run", "incidents", "--format", "json"),
    ("cut", "DATASET", "-o", "PIECE", "--overwrite", "--api", "Metadata", "-q"),
    ("compact", "DATASET"),
)


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of a file of the dataset. seed: of the generator that makes it."""

    path: str
    kind: str
    seed: int
    command: int


class DatasetRounds:
    """A round: one file of a dataset damaged in one way, and one command."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._sound, self._place = folder / "sound", folder / "out.kscope"
        self._output, self._piece = folder / "output.txt", folder / "piece.pcapng"
        self._files: list[str] = []
        self._expected: dict[int, bytes] = {}

    def warm_up(self) -> None:
        arguments = ["analyze", str(BASE), "-o", str(self._place), "-q", "--jobs", "1", "--records"]
        run_command(arguments, self._output)
        shutil.copytree(self._place, self._sound)
        self._files = sorted(p.relative_to(self._sound).as_posix() for p in self._sound.rglob("*") if p.is_file())

    def make(self, r: random.Random) -> Sequence[Damage]:
        path = MANIFEST if r.random() < 0.3 else r.choice(self._files)
        kinds = sorted(KINDS_OF_MANIFEST if path == MANIFEST and r.random() < 0.6 else KINDS)
        return [Damage(path, r.choice(kinds), r.getrandbits(32), r.randrange(len(COMMANDS)))]

    def run(self, inputs: Sequence[Damage], r: random.Random) -> None:
        for one in inputs:
            expected = self._of_sound(one.command)
            self._restore()
            path = self._place / one.path
            (KINDS | KINDS_OF_MANIFEST)[one.kind](random.Random(one.seed), path)
            is_no_dataset = one.path == MANIFEST and not path.exists()
            ended = self._ask(one.command, (USAGE, UNREADABLE) if is_no_dataset else (DONE, UNREADABLE))
            is_data = one.path.endswith(".parquet")
            if ended.code == DONE and is_data and ended.output != expected:
                raise FaultError(f"a damaged file changes what {COMMANDS[one.command][0]} writes: {one}")
            if ended.code != DONE and len(ended.output.strip().splitlines()) > 3:
                raise FaultError(f"more than a sentence of a damaged file: {one} {ended.output[:2000]!r}")

    def smaller(self, one: Damage) -> Iterator[Damage]:
        return iter(())

    def write(self, inputs: Sequence[Damage], stem: Path) -> None:
        stem.with_suffix(".txt").write_text("".join(f"{one}\n" for one in inputs), encoding="utf-8")

    def _of_sound(self, command: int) -> bytes:
        if command not in self._expected:
            self._restore()
            self._expected[command] = self._ask(command, (DONE,)).output
        return self._expected[command]

    def _restore(self) -> None:
        shutil.rmtree(self._place)
        shutil.copytree(self._sound, self._place)

    def _ask(self, command: int, allowed: Sequence[int]) -> Ended:
        names = {"DATASET": str(self._place), "PIECE": str(self._piece)}
        return run_command([names.get(part, part) for part in COMMANDS[command]], self._output, allowed)


def _missing(r: random.Random, path: Path) -> None:
    path.unlink()


def _cut(r: random.Random, path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, r.choice((0, 1, 4, size // 2, max(0, size - 1), r.randrange(size + 1))))


def _flipped(r: random.Random, path: Path) -> None:
    raw = bytearray(path.read_bytes())
    for _ in range(r.choice((1, 1, 8))):
        raw[r.randrange(len(raw))] ^= 1 << r.randrange(8)
    path.write_bytes(raw)


def _zeroed(r: random.Random, path: Path) -> None:
    """A page of the disk that was never written."""
    raw = bytearray(path.read_bytes())
    at = r.randrange(len(raw))
    raw[at : at + 512] = bytes(len(raw[at : at + 512]))
    path.write_bytes(raw)


def _folder(r: random.Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable_link(r: random.Random, path: Path) -> None:
    path.unlink()
    path.symlink_to(r.choice(("nowhere", path.name)))


def _pipe(r: random.Random, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _foreign(r: random.Random, path: Path) -> None:
    path.write_bytes(r.choice((b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"\x1f\x8b", b"{}", r.randbytes(300))))


Damages = dict[str, Callable[[random.Random, Path], None]]
KINDS: Damages = {
    "missing": _missing,
    "cut": _cut,
    "flipped": _flipped,
    "zeroed": _zeroed,
    "folder": _folder,
    "link": _unreadable_link,
    "pipe": _pipe,
    "foreign": _foreign,
}


def _json(change: Callable[[random.Random], str]) -> Callable[[random.Random, Path], None]:
    return lambda r, path: path.write_text(change(r), encoding="utf-8") and None


def _one_value(r: random.Random, path: Path) -> None:
    """One value anywhere in the manifest is of another type, or missing."""
    content = json.loads(path.read_text(encoding="utf-8"))
    at, keys = content, []
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = r.choice(keys)
        below = at[key]
        if isinstance(below, dict | list) and below and r.random() < 0.8:
            at = below
            continue
        break
    if isinstance(at, dict) and r.random() < 0.3:
        del at[key]
    else:
        at[key] = r.choice((None, -1, 2**70, 1.5, "", "x", [], {}, [None], "../../etc/passwd", True))
    path.write_text(json.dumps(content), encoding="utf-8")


KINDS_OF_MANIFEST: Damages = {
    "no json": _json(lambda r: r.choice(("", "{", "null", "[]", "7", '"x"', "\x00", "{}"))),
    "deep json": _json(lambda r: "[" * 100_000),
    "not utf-8": lambda r, path: path.write_bytes(b'{"schema_version": "\xff\xfe"}') and None,
    "one value": _one_value,
}
