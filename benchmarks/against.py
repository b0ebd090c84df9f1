#!/usr/bin/env python3
"""Compares kafkascope ingest with tshark and tcpdump on the same file and the same machine, in turn.

    python -m benchmarks.against                                       small, bulk, short; 100 MB to 4 GB; three runs
    python -m benchmarks.against --kinds small --sizes 100,1000 --runs 5
    python -m benchmarks.against --work /mnt/big --out results         where the captures lie, where results go

Each capture is tiled from real traffic (tiling.py) into --work, measured, and removed. tshark prints five fields (so it
decodes every frame), tcpdump reads and writes to /dev/null, kafkascope writes its Parquet dataset. They run in turn, so
that a slow minute of the machine hits all of them. Tools that are not installed are left out. Results: results.json,
results.md and growth.svg in --out, and the table on standard output.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.drawing import charts
from benchmarks.measuring import run
from benchmarks.traffic import KINDS, SERVER_PORTS, piece

from kafkascope_analyzer.dataset.dataset import Dataset

TOOLS = ("tshark", "tcpdump", "kafkascope")
FIELDS = ("frame.number", "tcp.stream", "kafka.api_key", "kafka.correlation_id", "kafka.error")
DISK_MARGIN = 1.5
"""A capture and its dataset need this many times the size of the capture."""

COLUMNS = ("traffic", "MB", "packets", "tool", "seconds", "MB/s", "processor s")
COLUMNS += ("largest process, MB", "all processes, MB", "time, kafkascope being 1")

Result = dict[str, Any]


def main() -> int:
    args = _arguments()
    tools = [tool for tool in TOOLS if tool == "kafkascope" or shutil.which(tool)]
    for missing in sorted(set(TOOLS) - set(tools)):
        print(f"{missing} is not installed: going on without it", file=sys.stderr)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="kafkascope-bench-", dir=args.work) as scratch:
        work = Path(scratch)
        _compile_kernels(work)
        for kind in args.kinds:
            one = _requests(work, piece(kind))
            for megabytes in args.sizes:
                capture = work / f"{kind}.pcap"
                if shutil.disk_usage(work).free < DISK_MARGIN * megabytes * 1e6:
                    print(
                        f"no room for {megabytes} MB in {work}: left out (--work names another place)", file=sys.stderr
                    )
                    continue
                made = _tile(kind, megabytes, capture)
                about = {"kind": kind, "asked_mb": megabytes, "mb": capture.stat().st_size / 1e6, **made}
                about["requests"] = made["tiles"] * one
                chosen = [tool for tool in tools if tool != "tshark" or megabytes <= args.tshark_up_to]
                results += _measure(capture, chosen, args, about)
                capture.unlink()
                _write(args.out, results)
    print((args.out / "results.md").read_text(encoding="utf-8"))
    return 1 if any(result["wrong"] for result in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS), help=",".join(KINDS))
    parser.add_argument(
        "--sizes", type=lambda text: [float(size) for size in text.split(",")], default=[100.0, 400.0, 1000.0, 4000.0]
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("build/benchmark"))
    parser.add_argument(
        "--work", type=Path, default=None, help="where captures are made [the system's temporary place]"
    )
    parser.add_argument(
        "--tshark-up-to", type=float, default=1000.0, metavar="MB", help="it takes 1.5 GB of memory a GB"
    )
    parser.add_argument("--ingest-options", default="", help='for kafkascope ingest, as in "--jobs 1"')
    args = parser.parse_args()
    unknown = set(args.kinds) - set(KINDS)
    if unknown or args.runs < 1 or not all(size > 0 for size in args.sizes):
        parser.error(f"kinds are {', '.join(KINDS)}; runs and sizes are above 0")
    args.sizes.sort()
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def command(tool: str, capture: Path, options: str) -> list[str]:
    """The command that is measured."""
    if tool == "tshark":
        ports = [part for port in SERVER_PORTS for part in ("-d", f"tcp.port=={port},kafka")]
        return ["tshark", "-r", str(capture), *ports, "-T", "fields", *(p for field in FIELDS for p in ("-e", field))]
    if tool == "tcpdump":
        return ["tcpdump", "-r", str(capture), "-w", "/dev/null"]
    return [*_ingest(capture), *options.split()]


def _ingest(capture: Path, dataset: Path | None = None) -> list[str]:
    out = str(dataset or _dataset(capture))
    return [sys.executable, "-m", "kafkascope_analyzer.cli", "ingest", str(capture), "-o", out, "-q", "--overwrite"]


def _dataset(capture: Path) -> Path:
    return capture.with_name("measured.kscope")


def _tile(kind: str, megabytes: float, out: Path) -> dict[str, int]:
    """Makes a capture, in a process of its own; its tiles and packets."""
    program = [sys.executable, "-m", "benchmarks.tiling", kind, str(megabytes), str(out)]
    made = subprocess.run(program, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).resolve().parent.parent)
    told: dict[str, int] = json.loads(made.stdout)
    return told


def _compile_kernels(work: Path) -> None:
    """The first run on a machine, which compiles kernels once and is not measured."""
    capture = work / "compile.pcap"
    _tile("short", 1, capture)
    subprocess.run(_ingest(capture), check=True, stdout=subprocess.DEVNULL)
    capture.unlink()


def _requests(work: Path, source: Path) -> int:
    """Requests in one tile."""
    dataset = work / "one.kscope"
    subprocess.run(_ingest(source, dataset), check=True, stdout=subprocess.DEVNULL)
    return _rows(dataset)


def _rows(dataset: Path) -> int:
    return Dataset.open(dataset).rows("requests")


def _measure(capture: Path, tools: list[str], args: argparse.Namespace, about: Result) -> list[Result]:
    """All tools in turn, --runs times."""
    with capture.open("rb") as file:
        while file.read(16 << 20):
            pass  # every tool finds the file in the page cache, as far as it fits
    runs: dict[str, list[Result]] = {tool: [] for tool in tools}
    wrong = ""
    for turn in range(args.runs):
        for tool in tools:
            done = run(command(tool, capture, args.ingest_options), capture.parent)
            runs[tool].append(asdict(done))
            if done.exit_code:
                wrong = f"{tool} ended with {done.exit_code}: {done.stderr.strip()}"
            elif tool == "kafkascope" and _rows(_dataset(capture)) != about["requests"]:
                wrong = f"kafkascope read {_rows(_dataset(capture))} requests, not {about['requests']}"
            shutil.rmtree(_dataset(capture), ignore_errors=True)
            size = f"{about['kind']} {about['mb']:.0f} MB"
            print(
                f"{size} run {turn + 1}: {tool} {done.wall_s:.2f} s {done.peak_rss_mb:.0f} MB {wrong}", file=sys.stderr
            )
    return [about | {"tool": tool, "wrong": wrong, "runs": runs[tool]} | _medians(runs[tool]) for tool in tools]


def _medians(runs: list[Result]) -> Result:
    names = ("wall_s", "cpu_s", "peak_rss_mb", "peak_all_mb")
    return {name: statistics.median(one[name] for one in runs) for name in names}


def _write(out: Path, results: list[Result]) -> None:
    whole = {"machine": machine(), "results": results}
    (out / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (out / "results.md").write_text(page(whole), encoding="utf-8")
    rows = []
    for title, unit, name in (("time", "s", "wall_s"), ("memory, all processes", "MB", "peak_all_mb")):
        panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for result in results:
            lines = panels.setdefault(result["kind"], {})
            lines.setdefault(result["tool"], []).append((round(result["mb"]), result[name]))
        rows.append((title, unit, panels))
    (out / "growth.svg").write_text(charts(rows), encoding="utf-8")


def machine() -> Result:
    """The machine and the versions of the measurement."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    tools = {tool: _version(tool) for tool in TOOLS[:2] if shutil.which(tool)}
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gb": round(memory, 1), "system": platform.platform(), **tools}


def _version(tool: str) -> str:
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    return ((said.stdout or said.stderr).splitlines() or [""])[0]


def page(whole: Result) -> str:
    """The results as a Markdown page."""
    told = "; ".join(f"{name}: {value}" for name, value in whole["machine"].items())
    lines = [f"Medians of {len(whole['results'][0]['runs'])} alternating runs. {told}.", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|"]
    ours = {(r["kind"], r["asked_mb"]): r["wall_s"] for r in whole["results"] if r["tool"] == "kafkascope"}
    for r in whole["results"]:
        ratio = f"{r['wall_s'] / ours[r['kind'], r['asked_mb']]:.2f}"
        speed = r["mb"] / r["wall_s"]
        lines.append(
            f"| {r['kind']} | {r['mb']:,.0f} | {r['packets']:,} | {r['tool']} | {r['wall_s']:.2f} | {speed:,.0f} "
            f"| {r['cpu_s']:.2f} | {r['peak_rss_mb']:,.0f} | {r['peak_all_mb']:,.0f} | {ratio} |"
        )
    wrong = sorted({f"{r['kind']} {r['mb']:.0f} MB: {r['wrong']}" for r in whole["results"] if r["wrong"]})
    return "\n".join([*lines, "", *(f"Wrong: {sentence}" for sentence in wrong)]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
