#!/usr/bin/env python3
"""How long ingest and stories of large captures take: wall clock, processor time and memory of all processes.

python -m benchmarks.starts tile A.pcap BIG.pcap --starts 20000       copies of A's clients, until so many starts
python -m benchmarks.starts tile A.pcap BIG.pcap --requests 1000000   the same, until so many requests
python -m benchmarks.starts loop A.pcap LOOP.pcap --requests 5000000  A's busiest client repeats a Fetch or Produce
python -m benchmarks.starts storm A.pcap STORM.pcap --errors 1000000  a Fetch or Produce that failed is repeated
python -m benchmarks.starts failing F.pcap H.pcap DIR --starts 20000       stories of failing against healthy clients
python -m benchmarks.starts run BIG.pcap      runs `kafkascope ingest` and `kafkascope stories`, prints what they took

A is any capture that kafkascope reads; what is made from it is a nanosecond pcap. `run` writes the dataset BIG.kscope
beside the capture, prints one JSON object a step, and last what the dataset holds.
"""

import argparse
import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from benchmarks.measuring import MemoryWatch
from benchmarks.repeating import write_repeated
from benchmarks.tiling import MOST_TILES, NAME_BYTES, Names, Source, load_source, write_tiles

from kafkascope_analyzer.dataset.dataset import Dataset

KAFKASCOPE = [sys.executable, "-m", "kafkascope_analyzer.cli"]
_PR_SET_CHILD_SUBREAPER = 36


def tile(source: Path, out: Path, starts: int | None, requests: int | None) -> None:
    """Writes copies of all clients but the brokers, until there are so many starts or requests."""
    tiles = only_clients(load_source(source))
    with tempfile.TemporaryDirectory() as scratch:
        one_tile = Path(scratch) / "one.pcap"
        write_tiles(tiles, one_tile, 1)
        one = dataset_of(one_tile, "analyze")
        tiles = replace(tiles, names=names_in(tiles, group_names(one)))
        starts_each, requests_each = one.rows("stories/startups"), one.rows("requests")
    n_tiles = -(-starts // starts_each) if starts else -(-(requests or 1) // requests_each)
    if n_tiles > MOST_TILES:
        raise SystemExit(f"{n_tiles} tiles would be needed, more than {MOST_TILES}")
    write_tiles(tiles, out, n_tiles)
    print(json.dumps({"tiles": n_tiles, "starts_a_tile": starts_each, "requests_a_tile": requests_each}))


def only_clients(source: Source) -> Source:
    """The packets of clients that are no servers themselves: brokers talk to each other as clients, too."""
    ends = [number(source, offset) for offset in (26, 30)]
    client = np.where(source.from_server, ends[1], ends[0])
    server = np.where(source.from_server, ends[0], ends[1])
    return source.only(np.flatnonzero(~np.isin(client, server)))


def number(source: Source, offset: int) -> np.ndarray:
    """The 32-bit number at this offset of every packet."""
    return np.ascontiguousarray(source.data[source.at[:, None] + offset + np.arange(4)]).view(">u4")[:, 0]


def group_names(dataset: Dataset) -> list[bytes]:
    """Ids of groups and transactional ids: without names of its own, each group would have the members of all tiles.

    Raises SystemExit where two names would become the same.
    """
    table = dataset.read("requests", ["group_id", "transactional_id"])
    names = {name.encode() for column in table.columns for name in column.unique().to_pylist() if name}
    names = {name for name in names if len(name) > NAME_BYTES}
    if len({name[NAME_BYTES:] for name in names}) < len(names):
        raise SystemExit("groups or transactional ids differ only in the characters that tiles replace")
    return sorted(names)


def names_in(source: Source, names: list[bytes]) -> Names:
    """Where the names are in the packets. A name that crosses two packets is not found and stays as it is."""
    pattern = re.compile(b"|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or b"(?!)")
    places = [
        (packet, match.start())
        for packet, (at, length) in enumerate(zip(source.at.tolist(), source.caplen.tolist(), strict=True))
        for match in pattern.finditer(source.data[at : at + length].tobytes())
    ]
    packet, offset = np.array(places, np.int64).reshape(-1, 2).T
    return Names(packet, offset)


def repeat(source: Path, out: Path, times: int, failed: bool) -> None:
    """Writes the capture with one exchange of a client repeated."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / source.name
        copy.symlink_to(source.resolve())
        requests = dataset_of(copy, "ingest").read("requests")
    exchange = write_repeated(source, requests, failed, times, out)
    row = exchange.request
    shown = {name: row[name] for name in ("request_id", "client_id", "client_ip", "api_name", "error_name")}
    print(json.dumps(shown | {"packets": len(exchange.packets), "step_ns": exchange.step_ns}))


def dataset_of(capture: Path, command: str) -> Dataset:
    """The dataset that `kafkascope ingest` or `kafkascope analyze` makes of a capture, beside it."""
    place = capture.with_suffix(".kscope")
    subprocess.run(
        [*KAFKASCOPE, command, capture, "-o", place, "--overwrite", "-q"], check=True, stdout=subprocess.DEVNULL
    )
    return Dataset.open(place)


def compare(failing: Path, healthy: Path, place: Path, starts: int) -> int:
    """Tiles a capture whose clients fail and one whose clients do not to as many starts, and prints what the stories of
    both take, and by how much those of the first take longer. Returns the exit code."""
    place.mkdir(exist_ok=True)
    cpu_s = []
    for name, source in (("failing", failing), ("healthy", healthy)):
        big = place / f"{name}.pcap"
        tile(source, big, starts, None)
        if run(big):
            return 1
        cpu_s.append(measured([*KAFKASCOPE, "stories", str(big.with_suffix(".kscope")), "-q"])["cpu_s"])
    print(json.dumps({"failing_cpu_s": cpu_s[0], "healthy_cpu_s": cpu_s[1], "ratio": round(cpu_s[0] / cpu_s[1], 2)}))
    return 0


def run(capture: Path) -> int:
    """Runs ingest and stories, each in processes of its own, and prints what they took. Returns the exit code."""
    place = capture.with_suffix(".kscope")
    steps = {
        "ingest": [*KAFKASCOPE, "ingest", str(capture), "-o", str(place), "--overwrite", "-q"],
        "stories": [*KAFKASCOPE, "stories", str(place), "-q"],
    }
    for name, command in steps.items():
        took = measured(command)
        print(json.dumps({"step": name} | took), flush=True)
        if took["exit_code"]:
            return 1
    print(json.dumps(counts(Dataset.open(place))))
    return 0


def measured(command: list[str]) -> dict[str, float]:
    """Runs a command: seconds, processor seconds of all its processes, largest sum of their memory, exit code.

    Processes that lose their parent become children of this one, so that the kernel counts them when they have ended.
    """
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("the kernel does not let this process adopt orphans")
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = MemoryWatch(process.pid)
    watch.start()
    exit_code = process.wait()
    wall_s = time.monotonic() - begun
    watch.stop()
    wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall_s": round(wall_s, 1),
        "cpu_s": round(cpu_s, 1),
        "peak_memory_mb": round(watch.peak_kb / 1000),
        "exit_code": exit_code,
        "load_1min": os.getloadavg()[0],
    }


def wait_for_orphans() -> None:
    """Waits until all processes that this one adopted have ended."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def counts(dataset: Dataset) -> dict[str, int]:
    """What shows whether the stories are right: rows of tables, and errors of the longest recovery and of all."""
    n_errors = dataset.read("stories/recoveries", ["n_errors"])["n_errors"]
    return {
        "requests": dataset.rows("requests"),
        "errors": dataset.rows("errors"),
        "events": dataset.rows("events"),
        "clients": dataset.rows("stories/clients"),
        "starts": dataset.rows("stories/startups"),
        "recoveries": dataset.rows("stories/recoveries"),
        "errors_of_longest_recovery": pc.max(n_errors).as_py() or 0,
        "errors_of_recoveries": pc.sum(n_errors).as_py() or 0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = {name: commands.add_parser(name) for name in ("tile", "loop", "storm")}
    for command in made.values():
        command.add_argument("capture", type=Path)
        command.add_argument("out", type=Path)
    size = made["tile"].add_mutually_exclusive_group(required=True)
    size.add_argument("--starts", type=int)
    size.add_argument("--requests", type=int)
    made["loop"].add_argument("--requests", type=int, required=True)
    made["storm"].add_argument("--errors", type=int, required=True)
    commands.add_parser("run").add_argument("capture", type=Path)
    against = commands.add_parser("failing")
    for name in ("failing", "healthy", "place"):
        against.add_argument(name, type=Path)
    against.add_argument("--starts", type=int, required=True)
    args = parser.parse_args()
    if args.command == "run":
        return run(args.capture)
    if args.command == "failing":
        return compare(args.failing, args.healthy, args.place, args.starts)
    if args.command == "tile":
        tile(args.capture, args.out, args.starts, args.requests)
    elif args.command == "loop":
        repeat(args.capture, args.out, args.requests, failed=False)
    else:
        repeat(args.capture, args.out, args.errors, failed=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
