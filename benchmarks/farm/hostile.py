"""Runs `kafkascope analyze` and `ingest --records` over captures that are made to break them, in separate processes.

    python -m benchmarks.farm.hostile FOLDER [--secret TEXT]...

Each must end with exit code 0, 3 or 5, without a traceback, within a time and a memory limit. The ledger of its dataset
adds up, each connection has the requests that it has in a capture without the other connections, and no secret (the
beginning of each password that the captures hold) is in a table, a report or a message.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.farm.checks import Rows, check_ledger, check_secrets, request_rows
from benchmarks.farm.commands import DONE, NO_KAFKA, UNREADABLE
from benchmarks.farm.layer import FaultError
from benchmarks.farm.rendering import write_pcap
from benchmarks.farm.scene import Packet, tcp_ends
from benchmarks.tiling import load_packets

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import CaptureError

SECRETS = ("S3cret", "SeCrEtPw")
LIMIT_S = 300
AT_A_TIME = 2
"""Number of captures that are read at the same time, each by commands in processes of their own."""
MOST_CONNECTIONS = 12
"""Number of connections of a capture that are also read alone; the others are only read together."""
MOST_MEMORY_KB = 1 << 20
_FORMS = ("html", "markdown", "perfetto")
_CHILD = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""
"""Runs a command and prints the peak of its resident memory, or of that of its largest process."""


def check(capture: Path, secrets: Sequence[str]) -> str:
    """Runs everything over one capture. Returns the result in words; raises FaultError if a condition does not hold."""
    marks = [secret.encode() for secret in secrets]
    ends = []
    with tempfile.TemporaryDirectory() as name:
        for command in ("analyze", "ingest"):
            folder = Path(name) / command
            folder.mkdir()
            dataset = folder / "out.kscope"
            options = ["-o", str(dataset), *_options(command, folder)]
            code, peak_kb = run([command, str(capture), *options], folder / "output.txt")
            ends.append(f"{code} ({peak_kb >> 10} MiB)")
            if (dataset / "_dataset.json").exists():
                check_ledger(dataset)
                if command == "analyze":
                    check_connections(capture, request_rows(dataset), folder)
            check_secrets(folder, marks, skip=folder.glob("alone*.pcap"))
    return ", ".join(ends)


def _options(command: str, folder: Path) -> list[str]:
    """All forms of the report, and once all records, which no story reads."""
    if command == "ingest":
        return ["--records"]
    return [part for form in _FORMS for part in (f"--{form}", str(folder / form))]


def run(arguments: Sequence[str], output: Path) -> tuple[int, int]:
    """Runs a command. Returns its exit code and its peak of memory in KiB. FaultError where it does not end well."""
    command = [sys.executable, "-c", _CHILD, sys.executable, "-m", "kafkascope_analyzer.cli", *arguments]
    with output.open("wb") as file:
        try:
            code = subprocess.run(command, stdout=file, stderr=file, timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired as error:
            raise FaultError(f"it takes longer than {LIMIT_S} s") from error
    text = output.read_text(encoding="utf-8", errors="replace")
    if code not in (DONE, UNREADABLE, NO_KAFKA) or "Traceback (most recent call last)" in text:
        raise FaultError(f"it ends with {code}: {text[-3000:]}")
    peak_kb = int(text.rsplit("peak ", 1)[1])
    if peak_kb > MOST_MEMORY_KB:
        raise FaultError(f"a process takes {peak_kb >> 10} MiB")
    return code, peak_kb


def check_connections(capture: Path, rows: Rows, folder: Path) -> None:
    """Each connection has the same requests as when it is read alone."""
    flows: dict[tuple[object, ...], list[Packet]] = {}
    packets = load_packets(capture)
    columns = (packets.at.tolist(), packets.caplen.tolist(), packets.ts_ns.tolist())
    for at, caplen, ts_ns in zip(*columns, strict=True):
        packet = Packet(ts_ns, packets.data[at : at + caplen].tobytes())
        ends = tcp_ends(packet)
        if ends is not None:
            flows.setdefault(ends, []).append(packet)
    if not 1 < len(flows) <= MOST_CONNECTIONS:
        return
    found: dict[tuple[object, ...], list[tuple[object, ...]]] = {}
    for number, alone in enumerate(flows.values()):
        path, dataset = folder / f"alone{number}.pcap", folder / f"alone{number}.kscope"
        write_pcap(path, alone)
        try:  # in this process: the commands have shown that the packets do it no harm
            ingest([path], dataset, IngestOptions(jobs=1))
        except CaptureError as error:
            raise FaultError(f"the packets of one connection cannot be read: {error}") from error
        found |= request_rows(dataset)
    if found != dict(rows):
        raise FaultError("a connection has other requests beside the others than alone")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--secret", action="append", help=f"instead of {' and '.join(SECRETS)}")
    args = parser.parse_args()
    captures = sorted(path for path in args.folder.iterdir() if ".pcap" in path.name)
    with ProcessPoolExecutor(AT_A_TIME, mp_context=get_context("spawn")) as pool:
        held = list(pool.map(partial(holds, secrets=args.secret or SECRETS), captures))
    print(f"{sum(held)} of {len(captures)} captures hold")
    return int(not all(held) or not captures)


def holds(capture: Path, secrets: Sequence[str]) -> bool:
    """Whether all conditions hold for the capture; prints the result, or the conditions that do not hold."""
    try:
        print(f"{capture.name}: ends with {check(capture, secrets)}", flush=True)
    except FaultError as error:
        print(f"{capture.name}: {error}", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
