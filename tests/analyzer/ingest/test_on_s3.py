"""`ingest` from S3 to S3 writes the rows that it writes from the disk to the disk, whole or not at all."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.errors import UsageError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
SMALL = CAPTURES / "pieces" / "path_cut.pcap.zst"
OTHER = CAPTURES / "pieces" / "frozen_broker.pcap.zst"
"""Captures of few APIs: each table of them is some requests to the store."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def packets_of(capture: Path) -> list[bytes]:
    return [
        block.buf[at : at + n].tobytes()
        for block in iter_blocks(capture)
        for at, n in zip(block.packets.offset, block.packets.caplen, strict=True)
    ]


def rows(place: str | Path, without: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """The rows of every table, in some order."""
    dataset = Dataset.open(place)
    return {name: sorted(map(repr, dataset.read(name).to_pylist())) for name in dataset.tables if name not in without}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.lab), 2])
def test_the_rows_are_those_of_the_disk(
    bucket: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    made = bucket()
    made.put("in/a.pcap.zst", OTHER.read_bytes())
    (tmp_path / "temporary").mkdir()
    out = f"{made.uri}/out/a.kscope"
    copied = run("ingest", f"{made.uri}/in", "-o", out, "-q", "--jobs", jobs, "--temporary", tmp_path / "temporary")
    assert copied.exit_code == 0, copied.output
    assert run("ingest", OTHER, "-o", tmp_path / "a.kscope", "-q", "--jobs", 1).exit_code == 0
    there, here = rows(out, ("captures",)), rows(tmp_path / "a.kscope", ("captures",))
    assert there == here
    assert len(there["requests"]) > 150
    (capture,) = Dataset.open(out).manifest.inputs
    (expected,) = Dataset.open(tmp_path / "a.kscope").manifest.inputs
    assert capture == expected | {"path": f"{made.uri}/in/a.pcap.zst"}
    listed = [file for name in Dataset.open(out).tables for file in Dataset.open(out).files(name)]
    assert made.keys("out/") == sorted(f"out/a.kscope/{name}" for name in ["_dataset.json", "views.sql", *listed])
    assert list((tmp_path / "temporary").iterdir()) == []
    refused = run("ingest", f"{made.uri}/in", "-o", out, "-q")
    assert (refused.exit_code, "--overwrite" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_info_and_cut_read_from_a_store(bucket: Callable[[], Any], tmp_path: Path) -> None:
    made = bucket()
    made.put("a.pcap.zst", SMALL.read_bytes())
    shown = run("info", f"{made.uri}/a.pcap.zst", "--format", "json")
    expected = run("info", SMALL, "--format", "json").stdout.replace(str(SMALL), f"{made.uri}/a.pcap.zst")
    assert (shown.exit_code, json.loads(shown.stdout)) == (0, json.loads(expected))
    assert run("ingest", f"{made.uri}/a.pcap.zst", "-o", f"{made.uri}/a.kscope", "-q").exit_code == 0
    for place, name in ((f"{made.uri}/a.kscope", "by_dataset"), (f"{made.uri}/a.pcap.zst", "remote"), (SMALL, "local")):
        cut = run("cut", place, "--packets", "100-250", "-o", tmp_path / name, "-q")
        assert cut.exit_code == 0, cut.output
    by_dataset, remote, local = (packets_of(tmp_path / name) for name in ("by_dataset", "remote", "local"))
    assert by_dataset == remote == local
    assert len(local) == 151
    made.remove("a.pcap.zst")
    gone = run("cut", f"{made.uri}/a.kscope", "--packets", "100-250", "-o", tmp_path / "gone", "-q")
    assert (gone.exit_code, gone.stderr) == (3, f"kafkascope: {made.uri}/a.pcap.zst: no such file or directory\n")


KILLED = """
import os, signal, sys
from kafkascope_analyzer.dataset import new_dataset, storage
from kafkascope_analyzer.cli import main

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(n, call):
    left = [n]
    def limited(*arguments, **named):
        left[0] -= 1
        return kill() if left[0] < 0 else call(*arguments, **named)
    return limited

moment = sys.argv.pop(1)
if moment == "while its files are put":
    storage.Storage.put = after(5, storage.Storage.put)
elif moment == "before the manifest":
    new_dataset.NewDataset.commit = kill
elif moment == "after the manifest":
    new_dataset.remove_leftovers = kill
main()
"""


def killed(moment: str, *arguments: object) -> None:
    """Runs kafkascope in a process that kills itself at that moment."""
    command = [sys.executable, "-c", KILLED, moment, *map(str, arguments)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "by"), [("while its files are put", "clean"), ("after the manifest", "next run")])
def test_a_run_that_is_killed_leaves_nothing_that_looks_whole(
    bucket: Callable[[], Any], tmp_path: Path, moment: str, by: str
) -> None:
    made, temporary = bucket(), tmp_path / "temporary"
    out = f"{made.uri}/a.kscope"
    killed(moment, "ingest", SMALL, "-o", out, "-q", "--temporary", temporary)
    assert made.keys()
    if moment == "after the manifest":
        assert Dataset.open(out).rows("requests") > 0
    else:
        with pytest.raises(UsageError, match="not a kafkascope dataset"):
            Dataset.open(out)
    if by == "clean":
        assert run("clean", out, "--temporary", temporary).exit_code == 0
    else:
        overwrite = ["--overwrite"] if moment == "after the manifest" else []
        ended = run("ingest", SMALL, "-o", out, "-q", "--temporary", temporary, *overwrite)
        assert ended.exit_code == 0, ended.output
    is_dataset = by == "next run" or moment == "after the manifest"
    listed = Dataset.open(out).manifest.paths if is_dataset else ()
    beside = ["_dataset.json", "views.sql"] if by == "next run" else ["_dataset.json"]
    expected = sorted(f"a.kscope/{name}" for name in [*beside, *listed]) if is_dataset else []
    assert made.keys() == expected
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_the_dataset_that_was_there(tmp_path: Path) -> None:
    out, temporary = tmp_path / "a.kscope", tmp_path / "temporary"
    assert run("ingest", SMALL, "-o", out, "-q", "--temporary", temporary).exit_code == 0
    before = rows(out)
    killed("before the manifest", "ingest", OTHER, "-o", out, "-q", "--overwrite", "--temporary", temporary)
    assert rows(out) == before
    assert list(temporary.iterdir())
    removed = run("clean", out, "--temporary", temporary)
    assert (removed.exit_code, rows(out), list(temporary.iterdir())) == (0, before, [])
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert there == {"_dataset.json", "views.sql", *Dataset.open(out).manifest.paths}


def test_a_capture_that_vanishes_leaves_no_dataset(bucket: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from kafkascope_analyzer.read import source

    made = bucket()
    made.put("a.pcap.zst", OTHER.read_bytes())
    digest = source._digest

    def then_removed(file: source.ReadableFile) -> str | None:
        found = digest(file)
        made.remove("a.pcap.zst")
        return found

    monkeypatch.setattr(source, "_digest", then_removed)
    result = run("ingest", f"{made.uri}/a.pcap.zst", "-o", f"{made.uri}/a.kscope", "-q")
    assert result.exit_code == 3, result.output
    assert result.stderr == f"kafkascope: {made.uri}/a.pcap.zst: the file was removed while it was read\n"
    assert made.keys() == []
