#!/usr/bin/env python3
"""How long the stories of many clients take, and of one that never rests: time, CPU and memory of all processes.

python benchmarks/starts.py tile A.kscope BIG.kscope --starts 200000   copies A's clients to so many starts
python benchmarks/starts.py loop A.kscope HOT.kscope --requests 5000000   one client whose busiest loop goes on and on
python benchmarks/starts.py storm A.kscope STORM.kscope --errors 1000000   one of its failures comes again and again
python benchmarks/starts.py run BIG.kscope    makes the stories and says what it took

A is a dataset of `kafkascope analyze` (its stories say how many starts it has). Copies get addresses, connection ids,
groups and transactional ids of their own (else each group would have thousands of times its members) and begin 20 ms
after one another. Only the tables that the stories read are copied. What else the clients did is copied with their
starts: what a start costs is seen best where they did little (a capture of many clients: 21 requests a start), not
where they produced and fetched for a minute (680).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, written_files

TABLES = (
    "captures",
    "connections",
    "requests",
    "errors",
    "partitions",
    "messages/Metadata/response",
    "messages/JoinGroup/request",
    "messages/ConsumerGroupHeartbeat/response",
)
OF_ONE_CLIENT = ("group_id", "member_id", "transactional_id", "coordinator_key")
APART_NS = 20_000_000
COPIES_A_FILE = 40


def tile(source: Path, place: Path, starts: int) -> None:
    """Copies of all clients but the brokers, until there are so many starts."""
    clients = pq.read_table(source / "stories" / "clients").to_pylist()
    kept = {c["client_instance_id"]: c["conn_ids"] for c in clients if c["kind"] != "broker"}
    begun = pq.read_table(source / "stories" / "startups", columns=["client_instance_id"])["client_instance_id"]
    each = sum(1 for i in begun.to_pylist() if i in kept)
    conn_ids = pa.array([c for ids in kept.values() for c in ids])
    n_copies = -(-starts // each)
    tables = {name: pq.read_table(source / name) for name in TABLES if (source / name).is_dir()}
    for name, table in tables.items():
        if "conn_id" in table.schema.names:
            tables[name] = table.filter(pc.is_in(table["conn_id"], conn_ids))
    print(f"{each} starts, {tables['requests'].num_rows} requests a copy; {n_copies} copies", flush=True)
    for first in range(0, n_copies, COPIES_A_FILE):
        for name, table in tables.items():
            copies = [copy_of(table, k) for k in range(first, min(first + COPIES_A_FILE, n_copies))]
            write(place, name, pa.concat_tables(copies), first)
    list_files(source, place)


def list_files(source: Path, place: Path) -> None:
    """Writes the manifest of the copy, from the source's and the files that are there."""
    manifest = Dataset.open(source).manifest.with_files(written_files(place))
    (place / MANIFEST).write_text(manifest.to_json())


def copy_of(table: pa.Table, k: int) -> pa.Table:
    """The k-th copy: other addresses, connections, groups and times."""
    originals = table
    for i, name in enumerate(table.schema.names):
        column = table[name]
        if name in ("conn_id", "request_id"):
            column = pc.binary_join_element_wise(f"{k:06x}", pc.utf8_slice_codeunits(column, 6), "")
        elif name == "client_ip":
            column = pc.binary_join_element_wise(f"fd00:{k:x}::", pc.replace_substring(column, ".", ":"), "")
        elif name in OF_ONE_CLIENT or name == "resource":
            own = pc.binary_join_element_wise(column, f"-{k:x}", "")
            is_own = pc.equal(column, originals["group_id"]) if name == "resource" else pc.not_equal(column, "")
            column = pc.if_else(pc.fill_null(is_own, fill_value=False), own, column)
        elif name.endswith("_ns") and pa.types.is_int64(column.type):
            column = pc.add(column, k * APART_NS)
        else:
            continue
        table = table.set_column(i, table.schema.field(i), column.cast(table.schema.field(i).type))
    return table


def loop(source: Path, place: Path, requests: int) -> None:
    """The busiest connection's Fetch or Produce requests again and again, 1 ms apart, and the rest of the dataset."""
    table = pq.read_table(source / "requests")
    hot = table.filter(pc.is_in(table["api_key"], pa.array([0, 1], pa.int16())))
    counted = (
        hot.filter(pc.not_equal(hot["client_ip"], hot["server_ip"])).group_by("conn_id").aggregate([([], "count_all")])
    )
    busiest = counted.sort_by([("count_all", "descending")])["conn_id"][0].as_py()
    one = hot.filter(pc.equal(hot["conn_id"], busiest)).sort_by("ts_ns").slice(0, 1_000)
    last = table.filter(pc.equal(table["conn_id"], busiest)).num_rows
    for name in TABLES:
        if (source / name).is_dir():
            write(place, name, pq.read_table(source / name), 0)
    begin = pc.max(one["ts_ns"]).as_py() + 1_000_000
    for k, done in enumerate(range(0, requests, one.num_rows * 50), 1):
        n = one.num_rows * 50
        parts = pa.concat_tables([one] * 50)
        number = pa.array(range(last + done, last + done + n))
        sent = pc.add(pc.multiply(pa.array(range(done, done + n), pa.int64()), 1_000_000), begin)
        latency = pc.multiply(pc.fill_null(parts["latency_us"], 0), 1_000)
        changed = {
            "request_id": pc.binary_join_element_wise(busiest, pc.cast(number, pa.string()), "-"),
            "ts_ns": sent,
            "request_last_ns": sent,
            "response_ns": pc.add(sent, latency),
            "response_last_ns": pc.add(sent, latency),
            "correlation_id": pc.cast(number, pa.int32()),
        }
        for name, column in changed.items():
            parts = parts.set_column(parts.schema.get_field_index(name), parts.schema.field(name), column)
        write(place, "requests", parts, k)
    list_files(source, place)


STORM_APART_NS = 1_000_000
STORM_ROWS_A_FILE = 250_000


def storm(source: Path, place: Path, errors: int) -> None:
    """The first NOT_LEADER_OR_FOLLOWER of the dataset again and again: its request, its error, its topic-partitions."""
    for name in TABLES:
        if (source / name).is_dir():
            write(place, name, pq.read_table(source / name), 0)
    failed = pq.read_table(source / "errors").sort_by("ts_ns").filter(pc.field("error_code") == 6)
    request_id = failed["request_id"][0].as_py()
    rows = {
        name: one_request(pq.read_table(source / name), request_id) for name in ("requests", "errors", "partitions")
    }
    last_ns = pc.max(pq.read_table(source / "captures", columns=["last_ns"])["last_ns"]).as_py()
    later_ns = last_ns - rows["requests"]["ts_ns"][0].as_py()
    for first in range(0, errors, STORM_ROWS_A_FILE):
        numbers = np.arange(first, min(first + STORM_ROWS_A_FILE, errors))
        for name, table in rows.items():
            write(place, name, again(table, numbers, later_ns), 1 + first // STORM_ROWS_A_FILE)
    list_files(source, place)


def one_request(table: pa.Table, request_id: str) -> pa.Table:
    """The rows of the request."""
    return table.filter(pc.field("request_id") == request_id)


def again(table: pa.Table, numbers: np.ndarray, later_ns: int) -> pa.Table:
    """The rows of one request once per number, so much later, as a request of its own each."""
    row, number = np.tile(np.arange(table.num_rows), len(numbers)), np.repeat(numbers, table.num_rows)
    out = table.take(pa.array(row))
    for i, field in enumerate(table.schema):
        if field.name == "request_id":
            base, _, _ = table["request_id"][0].as_py().rpartition("-")
            column = pc.binary_join_element_wise(base, pc.cast(pa.array(number + 1_000_000), pa.string()), "-")
        elif field.name.endswith("_ns") and pa.types.is_int64(field.type):
            column = pc.add(out[field.name], pa.array(number * STORM_APART_NS + later_ns))
        else:
            continue
        out = out.set_column(i, field, column)
    return out


def write(place: Path, name: str, table: pa.Table, number: int) -> None:
    (place / name).mkdir(parents=True, exist_ok=True)
    pq.write_table(table, place / name / f"part-{number}.parquet", compression="zstd")


_STORIES = """
import pathlib, sys
from kafkascope_analyzer.cli.startup import arrow_without_pandas
arrow_without_pandas()
from kafkascope_spark.stories import write_stories
write_stories(pathlib.Path(sys.argv[1]))
"""
"""What `kafkascope stories` does before it prints a report."""


def run(place: Path) -> None:
    """Make the stories in a process of its own and watch it and its children."""
    begun = time.monotonic()
    command = [sys.executable, "-c", _STORIES, str(place)]
    made = subprocess.Popen(command)
    watch = Watch(made.pid)
    watch.start()
    code = made.wait()
    watch.ended.set()
    starts = pq.ParquetDataset(place / "stories" / "startups").read(columns=["outcome"]) if not code else None
    told = {
        "exit": code,
        "wall_s": round(time.monotonic() - begun, 1),
        "cpu_s": round(sum(watch.cpu_s.values()), 1),
        "most_resident_mb": watch.most_kb // 1024,
        "starts": starts.num_rows if starts is not None else None,
    }
    print(json.dumps(told))


class Watch(threading.Thread):
    """The largest sum of proportional set sizes of a process and its descendants, and the CPU time of each."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.most_kb, self.ended = pid, 0, threading.Event()
        self.cpu_s: dict[int, float] = {}

    def run(self) -> None:
        while not self.ended.wait(0.5):
            living = family(self._pid)
            self.most_kb = max(self.most_kb, sum(pss_kb(p) for p in living))
            self.cpu_s |= {p: spent for p in living if (spent := cpu_s(p))}


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                todo += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def cpu_s(pid: int) -> float:
    """Time in user and system mode so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_kb(pid: int) -> int:
    """Resident memory, what is shared divided by who shares it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, option in (("tile", "--starts"), ("loop", "--requests"), ("storm", "--errors")):
        command = commands.add_parser(name)
        command.add_argument("source", type=Path)
        command.add_argument("place", type=Path)
        command.add_argument(option, type=int, required=True, dest="n")
    commands.add_parser("run").add_argument("place", type=Path)
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.place)
        return
    shutil.rmtree(asked.place, ignore_errors=True)
    {"tile": tile, "loop": loop, "storm": storm}[asked.command](asked.source, asked.place, asked.n)


if __name__ == "__main__":
    main()
