"""Workers that die, and disks that are full: one sentence, and nothing left behind."""

import errno
import gc
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.read.reading import Reading, ToRead
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.workers.engine import NotWrittenError, push_all
from kafkascope_analyzer.workers.processes import WorkerDiedError, Workers, workers
from kafkascope_analyzer.workers.worker import BucketResult, BucketScans, ScanJob
from kafkascope_parsers.link.segments import SegmentArrays, Segments

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"


def jobs(tmp_path: Path, n: int) -> list[ScanJob]:
    limits = Limits(block_bytes=100_000)
    return [
        ScanJob(Bucket(tmp_path / f"spill{i}", tmp_path / "dataset", f"bucket={i}/part-0.parquet", limits), i, n)
        for i in range(n)
    ]


def scan_without_the_second(pool: Workers) -> None:
    os.kill(pool.pids[1], signal.SIGKILL)
    for block in Reading(ToRead.of((CAPTURE,)), pool).blocks():
        pool.push(block)
    pool.scanned()


def test_a_worker_that_was_killed_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(WorkerDiedError, match="--max-memory"), workers(jobs(tmp_path, 2)) as pool:
        scan_without_the_second(pool)
    assert not [pid for pid in pool.pids if Path(f"/proc/{pid}").exists()]


def test_a_disk_that_is_full_for_a_worker_is_no_error_of_the_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader hears of it in the middle of a block of the capture, as all its memory is in use."""

    def push(*_: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(BucketScans, "push", push)
    with pytest.raises(NotWrittenError, match="No space left on device"), workers(jobs(tmp_path, 2)) as pool:
        push_all(Reading(ToRead.of((CAPTURE,)), pool), pool.push, None)


def test_an_error_of_the_reader_ends_the_workers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read"), workers(jobs(tmp_path, 2)) as pool:
        raise ValueError("read")
    assert not [pid for pid in pool.pids if Path(f"/proc/{pid}").exists()]


def test_what_was_kept_from_collection_is_released_with_the_workers(tmp_path: Path) -> None:
    """Else DuckDB's bindings print a line for each of their functions when the interpreter ends."""
    with workers(jobs(tmp_path, 2)) as pool:
        assert gc.get_freeze_count() > 0
        pool.stop()
    assert gc.get_freeze_count() == 0


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path) -> None:
    out = tmp_path / "out.kscope"
    command = [sys.executable, "-m", "kafkascope_analyzer.cli", "ingest", str(CAPTURE), "-o", str(out), "-q"]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"kafkascope: {tmp_path}")
    assert "could not be written" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_memory_of_a_block_is_not_needed_when_its_streams_are_decoded(tmp_path: Path) -> None:
    """The reader writes the next block to it in the meantime."""

    def scanned(name: str, *, overwrites: bool) -> BucketResult:
        scans = BucketScans(jobs(tmp_path / name, 1)[0])
        for block in Reading(ToRead.of((CAPTURE,)), OneBuffer(600_000)).blocks():
            columns = [getattr(block.segments, name).copy() for name in SegmentArrays._fields]
            copied = replace(block, buf=block.buf.copy(), segments=Segments(*columns))
            scans.push(copied, partial(fill, [copied.buf, *columns]) if overwrites else None)
        result = scans.finish()
        scans.close()
        return result

    def fill(arrays: list[NDArray[Any]]) -> None:
        for array in arrays:
            array.fill(77)

    plain, overwritten = scanned("plain", overwrites=False), scanned("overwritten", overwrites=True)
    assert overwritten.ledger == plain.ledger
    assert overwritten.message_rows == plain.message_rows
    assert plain.ledger["decoded_bytes"] > 100_000


def test_the_first_block_is_smaller_so_that_workers_begin_early(tmp_path: Path) -> None:
    """Its bytes are passed to the workers in memory that all share, like those of other blocks."""
    with workers(jobs(tmp_path, 2)) as pool:
        first, second = pool.next(), pool.next()
        pool.stop()
    assert len(second) == 2 * len(first) == 150_000
