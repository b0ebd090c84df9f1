"""The layers above: one mutated capture through all of `analyze` and then through the commands that read its dataset.

One process and one Spark session serve all runs. A run ends with exit code 0, 3 or 5, leaves nothing in the temporary
folder, its ledger adds up, connections that were not changed have the rows of the capture as it was, and no output has
a secret that was put in.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.farm import questions
from benchmarks.farm.checks import Rows, check_ledger, check_parts, check_secrets, check_unchanged, request_rows
from benchmarks.farm.commands import DONE, FOUND, NO_KAFKA, PART_FAILED, UNREADABLE, run_command
from benchmarks.farm.layer import FaultError
from benchmarks.farm.rendering import packets_of, write_pcap
from benchmarks.farm.scene import Packet, Scene, ends_of, load_scene
from benchmarks.farm.scene_secrets import MARK, RECORD_MARK
from benchmarks.farm.vectors import FIXTURES

from kafkascope_analyzer.cli.early_session import is_session_open

BASES = tuple(
    FIXTURES / name
    for name in (
        "clients/slow_close.pcap.zst",
        "captures/pieces/zk_transactions.pcap.zst",
        "captures/pieces/late_reports.pcap.zst",
        "captures/pieces/zk_clients.pcap.zst",
        "findings/thrown_out.pcap.zst",
        "findings/loading.pcap.zst",
        "service/share_member.pcap.zst",
        "captures/pieces/follower_fetch_start.pcap.zst",
        "captures/pieces/sasl_users.pcap.zst",
        "captures/pieces/zk_lost_session.pcap.zst",
        "captures/pieces/frozen_broker.pcap.zst",
    )
)
"""Captures of a few hundred packets: clients of four libraries, groups, transactions, logins, brokers, ZooKeeper."""
MOST_TALKS, MOST_OTHERS = 6, 200
FEW_STEPS = 60
"""Steps of a conversation that most runs have: what is odd counts, not how long it goes on."""
FORMATS = ("rich", "plain", "json")
RECORD_OPTIONS = ((), (), (), ("--record-batches",), ("--records",))

Change = Callable[[random.Random, Scene], None]


@dataclass(frozen=True, slots=True)
class MutatedCapture:
    """The packets of a capture. base: the capture that it was made from; unchanged: the ends of connections that are as
    they were there; content: the bytes of the file, where they are not simply a pcap of the packets."""

    base: Path
    packets: tuple[Packet, ...]
    unchanged: frozenset[tuple[Any, ...]]
    content: bytes | None = None


class WholeRounds:
    """A round: a capture, changed in one way. change: what is odd in its scene."""

    def __init__(self, change: Change, folder: Path) -> None:
        self._change, self._folder = change, folder
        shutil.rmtree(folder, ignore_errors=True)
        self._temporary = folder / "tmp"
        self._temporary.mkdir(parents=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self._temporary)
        self._expected: dict[Path, Rows] = {}
        self._left: set[str] = set()

    def warm_up(self) -> None:
        """Runs two captures as they are, the first time in a process: the session is opened, kernels are compiled."""
        for base in () if is_session_open() else BASES[:2]:
            scene = load_scene(base)
            self._analyze(MutatedCapture(base, tuple(packets_of(scene)), frozenset()), random.Random(0))
        self._left = set(os.listdir(self._temporary))

    def make(self, r: random.Random) -> Sequence[MutatedCapture]:
        base = r.choice(BASES)
        scene = piece(r, load_scene(base))
        self._change(r, scene)
        unchanged = frozenset(ends_of(talk) for talk in scene.talks if not talk.is_changed)
        return [MutatedCapture(base, tuple(packets_of(scene)), unchanged)]

    def run(self, inputs: Sequence[MutatedCapture], r: random.Random) -> None:
        for one in inputs:
            if one.unchanged and one.base not in self._expected:
                self._expected[one.base] = self._as_it_was(one.base)
            run = self._analyze(one, r)
            left = set(os.listdir(self._temporary)) - self._left
            if left:
                self._left |= left
                raise FaultError(f"something is left in the temporary folder: {sorted(left)}")
            if run is None:
                continue
            dataset, capture = run
            check_ledger(dataset)
            if one.unchanged:
                check_unchanged(dataset, self._expected[one.base], one.unchanged)
            questions.ask(r, dataset, capture)
            check_secrets(self._folder / "run", (MARK,), skip=(capture,))
            check_secrets(self._folder / "run", (RECORD_MARK,), skip=(capture, questions.piece_of(dataset)))

    def smaller(self, one: MutatedCapture) -> Iterator[MutatedCapture]:
        """Without the packets of one conversation, then without some packets."""
        if one.content is not None:
            return
        for talk in sorted({packet.talk for packet in one.packets}):
            kept = tuple(packet for packet in one.packets if packet.talk != talk)
            if kept and len(kept) < len(one.packets):
                yield replace(one, packets=kept, unchanged=frozenset())
        size = len(one.packets) // 2
        while size:
            for at in range(0, len(one.packets), size):
                yield replace(one, packets=one.packets[:at] + one.packets[at + size :], unchanged=frozenset())
            size //= 2

    def write(self, inputs: Sequence[MutatedCapture], stem: Path) -> None:
        for number, one in enumerate(inputs):
            write_capture(stem.with_name(f"{stem.name}{number or ''}.pcap"), one)

    def _as_it_was(self, base: Path) -> Rows:
        """The rows of a capture before anything is changed."""
        folder = self._folder / "before"
        folder.mkdir(exist_ok=True)
        capture, dataset = folder / "capture.pcap", folder / "out.kscope"
        write_pcap(capture, packets_of(load_scene(base)))
        run_command(
            ["ingest", str(capture), "-o", str(dataset), "--overwrite", "-q", "--jobs", "1"], folder / "out.txt"
        )
        return request_rows(dataset)

    def _analyze(self, one: MutatedCapture, r: random.Random) -> tuple[Path, Path] | None:
        """Runs `analyze` with some options. Returns the dataset and the capture; None where it could not be read."""
        folder = self._folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        capture, dataset = folder / "capture.pcap", folder / "out.kscope"
        write_capture(capture, one)
        arguments = ["analyze", str(capture), "-o", str(dataset), "-q", "--jobs", "1", "--format", r.choice(FORMATS)]
        for form in ("html", "markdown", "perfetto"):
            arguments += [f"--{form}", str(folder / f"report.{form}")]
        arguments += r.choice(RECORD_OPTIONS)
        fails = r.random() < 0.1
        arguments += ["--fail-on", "error"] if fails else []
        # A part that failed is found in the report, which says where.
        allowed = (DONE, UNREADABLE, NO_KAFKA, PART_FAILED, *([FOUND] if fails else []))
        ended = run_command(arguments, folder / "analyze.txt", allowed)
        if ended.code == PART_FAILED:
            check_parts(dataset)
            raise FaultError(f"the exit code is 4, and no part has failed: {ended.output[-3000:]!r}")
        if ended.code in (UNREADABLE, NO_KAFKA) and not (dataset / "_dataset.json").exists():
            return None
        return dataset, capture


def piece(r: random.Random, scene: Scene) -> Scene:
    """Some conversations of a scene, to be changed."""
    few = scene.copy()
    if len(few.talks) > MOST_TALKS:
        few.talks = r.sample(few.talks, MOST_TALKS)
    if len(few.others) > MOST_OTHERS:
        few.others = few.others[:MOST_OTHERS]
    if r.random() < 0.7:
        for talk in few.talks:
            talk.is_changed |= len(talk.steps) > FEW_STEPS
            talk.steps = talk.steps[:FEW_STEPS]
    return few


def write_capture(path: Path, one: MutatedCapture) -> None:
    if one.content is not None:
        path.write_bytes(one.content)
    else:
        write_pcap(path, one.packets)
