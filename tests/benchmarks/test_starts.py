"""Tiles: no brokers among the clients, and groups of their own. A measured run: all its processes count."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.starts import group_names, main, measured, names_in, only_clients
from benchmarks.tiling import Source, load_source, write_tiles

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).parents[2] / "fixtures" / "captures" / "txn.pcap.zst"
BROKERS = {"10.77.0.11", "10.77.0.12", "10.77.0.13"}
TILES = 3


@pytest.fixture(scope="module")
def clients() -> Source:
    return only_clients(load_source(CAPTURE))


@pytest.fixture(scope="module")
def one(clients: Source, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset_of_tiles(clients, 1, tmp_path_factory.mktemp("one"))


def dataset_of_tiles(tiles: Source, n_tiles: int, folder: Path) -> Dataset:
    write_tiles(tiles, folder / "tiles.pcap", n_tiles)
    ingest([folder / "tiles.pcap"], folder / "tiles.kscope")
    return Dataset.open(folder / "tiles.kscope")


def distinct(dataset: Dataset, column: str) -> set[str]:
    return {value for value in dataset.read("requests", [column])[column].to_pylist() if value}


def test_brokers_are_no_clients(clients: Source, one: Dataset) -> None:
    everything = load_source(CAPTURE)
    assert 0 < len(clients.at) < len(everything.at)
    names = distinct(one, "client_id")
    assert names
    assert not [name for name in names if "fetcher" in name or name.startswith("raft")]
    assert distinct(one, "server_ip") <= BROKERS


@pytest.mark.parametrize("column", ["group_id", "transactional_id"])
def test_every_tile_has_groups_and_transactional_ids_of_its_own(
    clients: Source, one: Dataset, column: str, tmp_path: Path
) -> None:
    names = group_names(one)
    tiles = replace(clients, names=names_in(clients, names))
    many = dataset_of_tiles(tiles, TILES, tmp_path)
    assert many.rows("requests") == TILES * one.rows("requests")
    assert many.rows("undecoded") == TILES * one.rows("undecoded")
    expected = {f"{tile:04x}{name[4:]}" for name in distinct(one, column) for tile in range(TILES)}
    assert distinct(many, column) == expected
    assert len(expected) == TILES * len(distinct(one, column)) > 0


def test_packets_are_chosen_before_names(clients: Source) -> None:
    with pytest.raises(ValueError, match="first"):
        only_clients(replace(clients, names=names_in(clients, [])))


@pytest.mark.slow
def test_a_measured_run_counts_children_that_outlive_their_parent(tmp_path: Path) -> None:
    burn = "import time; t = time.process_time()\nwhile time.process_time() - t < 1: pass"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    script = tmp_path / "parent.py"
    script.write_text(parent)
    pid = os.fork()
    if pid == 0:  # in a process of its own: measured() waits for every child of the process
        took = measured([sys.executable, str(script)])
        os._exit(0 if took["cpu_s"] >= 1 and took["exit_code"] == 0 else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_tile_command_has_to_say_how_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["starts", "tile", str(CAPTURE), str(tmp_path / "out.pcap")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
