"""Sums over the runs and requests of a bucket: continued from an earlier run, and added up in plain Python."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.servers.add_up import AddUpBucket, SumWork, add_up
from kafkascope_analyzer.resolve.servers.bucket_hosts import BucketHosts
from kafkascope_analyzer.resolve.servers.cells import N_CODES, Cells, Slices, renumbered, slices_of
from kafkascope_analyzer.resolve.servers.run_union import Runs, RunUnion, spans
from kafkascope_analyzer.resolve.servers.samples import SPILLED
from kafkascope_analyzer.resolve.servers.slowness import LEAST_OF_KIND, usual_classes
from kafkascope_analyzer.resolve.servers.sums import REQUESTS, SlicesOf
from kafkascope_analyzer.scan.liveness_spans import RUN_COLUMNS, RUNS
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.api_keys import FETCH, METADATA

S = 1_000_000_000
MINUTE = 60 * S
N_CONNECTIONS, N_HOSTS = 12, 4
SLICES = SlicesOf(Slices(0, 2 * S, 30), Slices(0, 2 * S, 30))


def hosts_of(rng: np.random.Generator) -> BucketHosts:
    """Connections of two clients on each of four hosts to three servers, of which the first two are one process."""
    conn = np.arange(N_CONNECTIONS)
    server, host = conn % 3, conn % N_HOSTS
    return BucketHosts(
        conn=conn,
        client_side=rng.integers(0, 2, N_CONNECTIONS),
        server=server,
        pair=server * N_HOSTS + host,
        process=np.array([0, 0, 2])[server],
        client_process=np.where(host == 0, 2, -1),
        host=np.where(host < 2, host, -1),
        server_host=np.full(N_CONNECTIONS, -1),
        client=conn % 8,
    )


def numbered_anew(hosts: BucketHosts, n: int | None = None) -> BucketHosts:
    """The same connections with other numbers, or the first ones of them."""
    others = {
        name: np.where(numbers >= 0, 2 * numbers + 1, -1) if name not in ("conn", "client_side") else numbers
        for name, numbers in hosts.numbers().items()
    }
    return BucketHosts(**{name: numbers[:n] for name, numbers in others.items()})


def spill_part(spill: Spill, part: int, rng: np.random.Generator) -> None:
    """Spills runs and requests of a random minute."""
    spill.begin_part(part)
    n, begin = 200, part * MINUTE // 3
    first = begin + rng.integers(0, MINUTE // 3, n)
    times = [first, rng.permutation(n) + 1000 * part, first + rng.integers(0, 3 * S, n), rng.permutation(n) + 1000]
    sides = {name: rng.integers(0, 2, n).astype(np.int8) for name in ("side", "layer")}
    conn = {"conn": rng.integers(0, N_CONNECTIONS, n)}
    spill.write(RUNS, pa.table(conn | sides | dict(zip(RUN_COLUMNS, times, strict=True))))
    sent = np.sort(first)
    columns = dict.fromkeys(SPILLED, np.zeros(n, np.int64)) | conn | {"number": np.arange(n) + 1000 * part}
    columns |= {"api_key": rng.choice([FETCH, METADATA], n), "ts_ns": sent, "request_last_ns": sent}
    columns |= {"response_ns": sent + rng.integers(1, 2 * S, n), "in_flight": np.ones(n, np.int64)}
    columns |= {"replica_id": rng.choice([-1, 2], n), "request_packet_no": np.arange(n) + 1}
    spill.write(REQUESTS, pa.table(columns))


def plain(found: dict) -> dict:
    """What was found, without the arrays: cells as numbers by subject, slice and code."""
    names = ("processes", "clients", "held_up")
    out = {name: [column.tolist() for column in each] for name, each in found.items() if name not in names}
    for name, of_name in [(name, found[name]) for name in names]:
        for key in ("cells", "starts", "ends"):
            if key in of_name:
                cells = Cells()
                cells.add(of_name[key])
                out[name, key] = counted(cells)
    return out


def counted(cells: Cells) -> Counter:
    total: Counter = Counter()
    for each in cells.each():
        for *cell, n in zip(*(column.tolist() for column in each), strict=True):
            total[tuple(cell)] += n
    return total


@pytest.mark.parametrize("seed", range(3))
def test_an_append_finds_what_one_run_finds(tmp_path: Path, seed: int) -> None:
    """The second run has other numbers for the same connections, and more connections."""
    rng = np.random.default_rng(seed)
    hosts, spill = hosts_of(rng), Spill(tmp_path / "0")
    for part in range(2):
        spill_part(spill, part, rng)
    spill.close()
    first = AddUpBucket("0", hosts, SLICES, None, is_saved=True)(tmp_path)
    spill_part(spill, 2, rng)
    spill.begin_end()
    spill.close()
    now = numbered_anew(hosts)
    appended = AddUpBucket("0", now, SLICES, first.state, is_saved=True)(tmp_path)
    at_once = AddUpBucket("0", now, SLICES, None, is_saved=False)(tmp_path)
    assert plain(appended.found) == plain(at_once.found)
    assert appended.state is not None
    assert appended.state["part"] == 2
    assert len(plain(at_once.found)["served"][0]) > 3
    assert sum(plain(at_once.found)["clients", "cells"].values()) > 50


@pytest.mark.parametrize("seed", range(3))
def test_only_new_parts_are_read(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    hosts, spill = hosts_of(rng), Spill(tmp_path / "0")
    spill_part(spill, 0, rng)
    spill.close()
    work = SumWork(lambda tasks: [task(tmp_path) for task in tasks], tmp_path / "servers.state")
    add_up({tmp_path / "0": hosts}, SLICES, work)
    for file in (tmp_path / "0").iterdir():
        file.write_bytes(b"not read again")
    spill_part(spill, 1, rng)
    spill.close()
    (found,) = add_up({tmp_path / "0": hosts}, SLICES, work)
    assert sum(plain(found)["clients", "cells"].values()) > 50
    with pytest.raises(pa.ArrowInvalid):
        add_up({tmp_path / "0": hosts}, SLICES, SumWork(work.run))


def test_numbers_hold_while_the_same_connections_have_the_same_ones() -> None:
    hosts = hosts_of(np.random.default_rng(0))
    before = {name: numbers[:9] for name, numbers in hosts.numbers().items()}
    now = numbered_anew(hosts)
    found = now.new_numbers("process", before)
    assert found is not None
    assert found[[0, 2]].tolist() == [1, 5]
    split = now.numbers() | {"process": now.server}
    assert BucketHosts(**split).new_numbers("process", before) is None, "one process has become two"
    joined = now.numbers() | {"server": np.zeros(N_CONNECTIONS, np.int64)}
    assert BucketHosts(**joined).new_numbers("server", before) is not None, "two servers have become one"
    known = now.numbers() | {"client_process": np.full(N_CONNECTIONS, 5)}
    assert BucketHosts(**known).new_numbers("process", before) is None, "clients have turned out to be brokers"
    turned = now.numbers() | {"client_side": 1 - now.client_side}
    assert BucketHosts(**turned).new_numbers("pair", before) is None


@pytest.mark.parametrize("seed", range(5))
def test_cells_count_and_slices_double(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, n, 5_000) for n in (4, 60, N_CODES)])
    rows[2] = rng.choice([0, 7, N_CODES - 1], 5_000)
    cells = Cells()
    for part in np.array_split(rows, 25, axis=1):
        before, cells = cells.found(), Cells()
        cells.add(before)
        cells.count(*part)
    assert counted(cells) == Counter(map(tuple, rows.T.tolist()))
    longer = Cells()
    longer.add(renumbered(cells.found(), np.array([10, 11, 12, 12]), 2))
    expected = [(min(10 + subject, 12), of_slice // 4, code) for subject, of_slice, code in rows.T.tolist()]
    assert counted(longer) == Counter(expected)


def test_slices_of_a_longer_capture_are_whole_numbers_of_the_old_ones() -> None:
    short, long = slices_of((5, 60 * MINUTE), 2_000), slices_of((5, 24 * 60 * MINUTE), 2_000)
    assert (short.length_ns, long.length_ns) == (16 * S, 512 * S)
    assert long.doublings_since(*short.key()) == 5
    assert long.doublings_since(6, 16 * S) is None, "it begins at another time"
    assert short.doublings_since(*long.key()) is None
    assert long.n * 2_000 <= 1 << 19


def test_spans_of_subjects() -> None:
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 50, (5, 300))
    columns[0] = rng.integers(0, 7, 300)
    union = RunUnion(spans)
    for part in np.array_split(columns, 4, axis=1):
        union.add(Runs(*part))
    rows = columns.T.tolist()
    for subject, *ends in zip(*(column.tolist() for column in union.runs()), strict=True):
        mine = [row for row in rows if row[0] == subject]
        assert tuple(ends) == (*min((row[1], row[2]) for row in mine), *max((row[3], row[4]) for row in mine))


def test_the_usual_class_is_the_lower_quartile_of_enough_samples() -> None:
    cells = Cells()
    classes = np.array([40] * 4 + [50] * (LEAST_OF_KIND - 4))
    for kind, n in ((0, LEAST_OF_KIND), (1, LEAST_OF_KIND - 1)):
        cells.count(np.zeros(n, np.int64), np.arange(n), kind * 128 + classes[:n])
    assert usual_classes(cells, (1, 2)).tolist() == [[40, -1]]
