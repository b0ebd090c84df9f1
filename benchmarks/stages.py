#!/usr/bin/env python3
"""What ingest costs: processor time for each stage and table, and rows and bytes for each table and column.

    python -m benchmarks.stages                                   all kinds of traffic, 100 MB each, printed
    python -m benchmarks.stages --kinds small --megabytes 300
    python -m benchmarks.stages --page costs.md                   written as a page
    python -m benchmarks.stages --capture day.pcap                a capture of one's own

Ingest runs in this process, in one bucket, so that nothing hides in another one. A timer of the process's own time
interrupts it every millisecond; the time since the last interrupt belongs to the innermost function of kafkascope that
is running. Kernels and Arrow are not interrupted inside: what they take is counted when they return, for their caller.
The captures are tiled from real traffic (tiling.py). The kernels were compiled before.

Of each kind of traffic a capture of the size asked for is ingested, and one of a quarter of it: what the larger one
takes more, divided by the packets that it has more, is the cost of a packet; the rest does not grow with the capture.
A capture of one's own has one size alone, so that what does not grow is in the cost of its packets.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pyarrow.parquet as pq
from benchmarks.tiling import load_source, tiles_for, write_tiles
from benchmarks.traffic import KINDS, piece

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MESSAGES
from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

TICK_S = 0.001
SMALLER = 4
"""How many times smaller the capture is that shows the costs that do not grow. It is ingested as many times, and the
average counts, so that both have about the same number of interrupts."""
MOST_COLUMNS = 25
"""Columns of a capture that the page lists, those with the most bytes."""
OTHER = "start, and what is in none of these"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of ingest. modules: the packages that do it; budget_ns: what a packet should cost; None if the stage
    should not exist."""

    name: str
    modules: tuple[str, ...]
    budget_ns: int | None


STAGES = (
    Stage("reading", ("kafkascope_parsers.capture", "kafkascope_analyzer.read"), 100),
    Stage("link layer and flows", ("kafkascope_parsers.link",), 150),
    Stage(
        "streams and framing",
        ("kafkascope_parsers.tcp", "kafkascope_parsers.framing", "kafkascope_parsers.exchanges"),
        150,
    ),
    Stage("decoding", ("kafkascope_parsers",), 200),
    Stage("between the passes: the spill, written and read", ("kafkascope_analyzer.scan.spill",), None),
    Stage("Parquet", ("kafkascope_analyzer.dataset",), 200),
    Stage("first pass: roles, facts, rows", ("kafkascope_analyzer.scan", "kafkascope_analyzer.connections"), 100),
    Stage("second pass: names, events, flows, lags", ("kafkascope_analyzer.resolve",), 100),
)
"""Each module belongs to the first stage that names a package of it."""
CALLS_KERNELS = ("kafkascope_parsers.kernels", "kafkascope_parsers.kernel_code", "kafkascope_parsers.kernel_arguments")
"""Modules that run kernels: a kernel's time belongs to the stage of the module that calls it."""


def stage_of(module: str) -> str | None:
    """The stage that a module belongs to, or None."""
    for stage in STAGES:
        if any(module == package or module.startswith(f"{package}.") for package in stage.modules):
            return stage.name
    return None


@dataclass(slots=True)
class Profile:
    """Processor seconds by stage, by module within it, and of Parquet by table."""

    stages: Counter[str] = field(default_factory=Counter)
    modules: Counter[tuple[str, str]] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    _last_s: float = 0.0

    def __enter__(self) -> "Profile":
        self._last_s = time.process_time()
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        return self

    def __exit__(self, *failure: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        self._count(OTHER, "", time.process_time())

    def _tick(self, _: int, frame: FrameType | None) -> None:
        now_s = time.process_time()
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            stage = None if module in CALLS_KERNELS else stage_of(module)
            if stage is not None:
                self._count(stage, module, now_s, frame)
                return
            frame = frame.f_back
        self._count(OTHER, "", now_s)

    def _count(self, stage: str, module: str, now_s: float, frame: FrameType | None = None) -> None:
        spent_s, self._last_s = now_s - self._last_s, now_s
        self.stages[stage] += spent_s
        self.modules[stage, module] += spent_s
        if stage == "Parquet" and frame is not None:
            self.tables[_table_of(frame)] += spent_s


def _table_of(frame: FrameType) -> str:
    """The table whose writer is running, by the folder of its files: of messages one for each API and direction."""
    at: FrameType | None = frame
    while at is not None and str(at.f_globals.get("__name__", "")).startswith("kafkascope_analyzer.dataset"):
        place = getattr(at.f_locals.get("self"), "_place", None)
        if isinstance(place, TablePlace):
            *_, before, api, name = place.folder.parts
            return f"{before}/{api}/{name}" if before == MESSAGES else name
        at = at.f_back
    return "(other)"


@dataclass(frozen=True, slots=True)
class ColumnBytes:
    """The size of a column in all files of a table."""

    table: str
    column: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Run:
    """The costs of the ingest of a capture. times: how often it was ingested; cpu_s and profile are sums over all
    times."""

    capture_bytes: int
    n_packets: int
    cpu_s: float
    profile: Profile
    times: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """A kind of traffic. whole: the capture of the size that was asked for; smaller: a part of it, None where there is
    none; columns: of the tables of the whole one."""

    kind: str
    whole: Run
    smaller: Run | None
    columns: Sequence[ColumnBytes]

    def ns_per_packet(self, seconds_of: Callable[[Run], float]) -> float:
        """Nanoseconds that each further packet takes; those of all packets where there is no smaller capture."""
        spent_s, n_packets = seconds_of(self.whole) / self.whole.times, self.whole.n_packets
        if self.smaller is not None:
            spent_s -= seconds_of(self.smaller) / self.smaller.times
            n_packets -= self.smaller.n_packets
        return spent_s * 1e9 / n_packets

    def fixed_ms(self, seconds_of: Callable[[Run], float]) -> float:
        """Milliseconds that do not grow with the capture: what the packets of the whole one do not explain."""
        of_packets_s = self.ns_per_packet(seconds_of) * self.whole.n_packets / 1e9
        return (seconds_of(self.whole) / self.whole.times - of_packets_s) * 1e3


def measure(kind: str, capture: Path, smaller: Path | None, work: Path) -> Measured:
    """Ingests a capture, and a smaller one of the same kind, and counts."""
    ingest([smaller or capture], work / "warm.kscope", IngestOptions(jobs=1))
    of_smaller = None if smaller is None else _run(smaller, work / f"{kind}-smaller.kscope", SMALLER)
    out = work / f"{kind}.kscope"
    return Measured(kind, _run(capture, out, 1), of_smaller, list(_columns(Dataset.open(str(out)), out)))


def _run(capture: Path, out: Path, times: int) -> Run:
    """Ingests a capture that many times."""
    begun_s = time.process_time()
    with Profile() as profile:
        for _ in range(times):
            ingest([capture], out, IngestOptions(jobs=1))
    cpu_s = time.process_time() - begun_s
    n_packets = sum(Dataset.open(str(out)).read("captures")["n_packets"].to_pylist())
    return Run(capture.stat().st_size, n_packets, cpu_s, profile, times)


def _columns(dataset: Dataset, folder: Path) -> Iterator[ColumnBytes]:
    """Rows and bytes of all columns, from the footers of the files."""
    rows, sizes = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for table, files in dataset.manifest.files.items():
        for file in files:
            about = pq.read_metadata(folder / file.path)
            for group in map(about.row_group, range(about.num_row_groups)):
                for column in map(group.column, range(group.num_columns)):
                    name = column.path_in_schema.split(".")[0]
                    sizes[table, name] += column.total_compressed_size
                    if column.path_in_schema.split(".")[0] == column.path_in_schema:
                        rows[table, name] += group.num_rows
    for (table, column), n_bytes in sizes.items():
        yield ColumnBytes(table, column, rows[table, column], n_bytes)


def page(results: Sequence[Measured]) -> Iterator[str]:
    """The lines of the page."""
    yield "# What ingest costs"
    yield ""
    yield f"Made by `{COMMAND}`. {HOW}"
    yield ""
    yield "Processor time a packet in nanoseconds, on the machine that made this page; the budget is what a million"
    yield "packets a second and core leave to each stage. Shares hold elsewhere, times do not."
    yield ""
    yield from _stages(results)
    split = [one for one in results if one.smaller is not None]
    if split:
        yield ""
        yield "What does not grow with the capture, in milliseconds. (The process was warm: starting it comes on top.)"
        yield ""
        yield from _fixed(split)
    for one in results:
        yield from ("", f"## {one.kind}", "")
        yield from _tables(one)
        yield ""
        yield from _largest(one)


COMMAND = "python -m benchmarks.stages --page FILE"
HOW = (
    "Ingest runs in one process and one bucket. A timer of the process's own time interrupts it every millisecond; the "
    "time since the last interrupt belongs to the innermost function of kafkascope that is running. Kernels and Arrow "
    "are not interrupted inside: what they take is counted when they return, for their caller. Each kind of traffic is "
    f"ingested in two sizes, of which one is {SMALLER} times the other: what the larger one takes more is the cost of "
    "its further packets."
)


def _seconds_of(stage: str) -> Callable[[Run], float]:
    return lambda run: run.profile.stages[stage]


def _all_seconds(run: Run) -> float:
    return run.cpu_s


def _stages(results: Sequence[Measured]) -> Iterator[str]:
    yield from _row("stage", "budget", *(one.kind for one in results))
    yield from _row("---", "---:", *("---:" for _ in results))
    for name, budget in [*((stage.name, stage.budget_ns) for stage in STAGES), (OTHER, None)]:
        costs = (one.ns_per_packet(_seconds_of(name)) for one in results)
        yield from _row(name, "" if budget is None else f"{budget}", *(f"{cost:,.0f}" for cost in costs))
    budgets, costs_ns = (
        sum(stage.budget_ns or 0 for stage in STAGES),
        [one.ns_per_packet(_all_seconds) for one in results],
    )
    yield from _row("**all**", f"{budgets}", *(f"{cost:,.0f}" for cost in costs_ns))
    yield from _row(
        "million packets a second and core", f"{1000 / budgets:.2f}", *(f"{1000 / cost:.2f}" for cost in costs_ns)
    )
    sizes = [one.whole.capture_bytes / one.whole.n_packets for one in results]
    rates = (f"{size / cost:.2f}" for size, cost in zip(sizes, costs_ns, strict=True))
    yield from _row("GB a second and core", "", *rates)
    yield from _row("packets", "", *(f"{one.whole.n_packets:,}" for one in results))
    yield from _row("bytes a packet", "", *(f"{size:,.0f}" for size in sizes))


def _fixed(results: Sequence[Measured]) -> Iterator[str]:
    yield from _row("stage", *(one.kind for one in results))
    yield from _row("---", *("---:" for _ in results))
    for name in [*(stage.name for stage in STAGES), OTHER]:
        yield from _row(name, *(f"{one.fixed_ms(_seconds_of(name)):,.0f}" for one in results))
    yield from _row("**all**", *(f"{one.fixed_ms(_all_seconds):,.0f}" for one in results))


def _tables(one: Measured) -> Iterator[str]:
    """Rows, bytes and the time of writing, by table: all of the larger capture, divided by its packets."""
    yield from _row("table", "rows", "rows a packet", "bytes", "bytes a packet", "writing, ns a packet")
    yield from _row("---", "---:", "---:", "---:", "---:", "---:")
    sizes = Counter[str]()
    rows: dict[str, int] = {}
    for column in one.columns:
        sizes[column.table] += column.bytes
        rows[column.table] = max(rows.get(column.table, 0), column.rows)
    for table, n_bytes in sizes.most_common():
        n, n_packets = rows[table], one.whole.n_packets
        cost = one.whole.profile.tables[table] * 1e9 / n_packets
        shown = f"{n:,}", f"{n / n_packets:.3f}", f"{n_bytes:,}", f"{n_bytes / n_packets:.2f}", f"{cost:,.1f}"
        yield from _row(f"`{table}`", *shown)


def _largest(one: Measured) -> Iterator[str]:
    """The columns with the most bytes."""
    yield from _row("column", "bytes a row", "bytes a packet")
    yield from _row("---", "---:", "---:")
    for column in sorted(one.columns, key=lambda c: -c.bytes)[:MOST_COLUMNS]:
        a_row = f"{column.bytes / column.rows:.2f}" if column.rows else ""
        yield from _row(f"`{column.table}.{column.column}`", a_row, f"{column.bytes / one.whole.n_packets:.2f}")


def _row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def details(one: Measured) -> Iterator[str]:
    """The modules of each stage that take a hundredth of the time or more, for who looks for what to change."""
    whole = one.whole
    for (stage, module), seconds in whole.profile.modules.most_common():
        if seconds >= whole.cpu_s / 100:
            yield f"{seconds * 1e9 / whole.n_packets:8,.0f} ns  {stage}: {module}"


def _tiled(kind: str, megabytes: float, work: Path) -> Path:
    """A capture of that kind and size."""
    path = work / f"{kind}-{megabytes:g}.pcap"
    source = load_source(piece(kind))
    write_tiles(source, path, tiles_for(source, megabytes))
    return path


def _measure_kind(kind: str, megabytes: float, work: Path) -> Measured:
    """Measures a kind of traffic."""
    return measure(kind, _tiled(kind, megabytes, work), _tiled(kind, megabytes / SMALLER, work), work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of traffic, separated by commas")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--capture", type=Path, action="append", default=[], help="a capture of one's own, instead")
    parser.add_argument("--page", type=Path, help="where the page goes; without it, it is printed")
    parser.add_argument("--work", type=Path, help="folder for captures and datasets, which are removed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafkascope-stages-", dir=args.work) as scratch:
        work = Path(scratch)
        if args.capture:
            results = [measure(capture.stem, capture, None, work) for capture in args.capture]
        else:
            results = [_measure_kind(kind, args.megabytes, work) for kind in args.kinds.split(",")]
        for one in results:
            print(*details(one), sep=os.linesep, file=sys.stderr)
    text = "\n".join(page(results)) + "\n"
    if args.page is None:
        print(text, end="")
    else:
        args.page.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
