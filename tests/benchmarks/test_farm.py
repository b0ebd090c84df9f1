"""The farm: that its inputs are what it says, and that it notices what it is there for.

Here layers below the meaning run a little with the kernels as they are; `make checked` runs them with every index
checked, where such kernels are compiled anyway, and `make fuzz` by the million. Whole runs: tests/spark/test_farm.py.
"""

import base64
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.farm import checks, mutations, runner
from benchmarks.farm.figures import markdown, text
from benchmarks.farm.hostile_values import change
from benchmarks.farm.layer import FaultError, shorter
from benchmarks.farm.message_tree import NotReadError, read_tree
from benchmarks.farm.messages import MessageRounds
from benchmarks.farm.registry import LAYERS
from benchmarks.farm.rendering import packets_of, write_pcap
from benchmarks.farm.rounds import generator, signature
from benchmarks.farm.scene import load_scene
from benchmarks.farm.scene_secrets import MARK, SECRET_NAMES, marked
from benchmarks.farm.shrinking import fewest, smallest
from benchmarks.farm.vectors import FIXTURES, frames

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.schema import message_type
from kafkascope_parsers.schema.by_definition import MessageError, decode_by_definition

ROOT = Path(__file__).parents[2]
BELOW = ("files", "packets", "messages", "record_sets", "conversations")
CAPTURE = FIXTURES / "findings" / "thrown_out.pcap.zst"


def farm(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks.farm", "--folder", str(folder), "--shrink", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="make checked: it compiles kernels of its own")
def test_mutated_input_reads_nothing_out_of_bounds(tmp_path):
    run = farm("--layers", *BELOW, "--inputs", "4000", "--seed", "1", folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["messages", "conversations", "packets", "fields", "secrets", "links"])
def test_the_same_seed_makes_the_same_inputs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rounds = LAYERS[name].open(tmp_path / name)
    first, again, other = (repr(rounds.make(generator(seed, name, 3))) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.slow
def test_every_layer_makes_inputs(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, layer in LAYERS.items():
        if name in ("datasets", "machine"):
            continue  # their inputs depend on a dataset
        rounds = layer.open(tmp_path / name)
        assert all(rounds.make(generator(5, name, number)) for number in range(20)), name


def test_every_blind_mutation_changes_something():
    raw = bytes(range(100, 200))
    for mutation in mutations.MUTATIONS:
        changed = set()
        for i in range(20):
            out = bytearray(raw)
            mutation(random.Random(i), out)
            changed.add(bytes(out))
        assert changed - {raw}, mutation


def test_a_tree_is_written_as_kafkas_own_class_has_written_it():
    n_read = 0
    for vector in frames():
        try:
            tree = read_tree(message_type(vector.api_key, vector.direction), vector.raw, vector.version)
        except NotReadError:
            continue  # an earlier release's layout of the same version
        assert tree.write() == vector.raw
        n_read += 1
    assert n_read > 0.99 * len(frames())


def test_most_changed_messages_still_decode():
    r, decoded, chosen = random.Random(1), 0, random.Random(2).sample(frames(), 200)
    for vector in chosen:
        message = message_type(vector.api_key, vector.direction)
        try:
            tree = read_tree(message, vector.raw, vector.version)
            change(r, tree)
            decode_by_definition(message, tree.write(), vector.version)
            decoded += 1
        except (NotReadError, MessageError):
            continue
    assert decoded > 100


def test_secrets_are_marked_where_kafka_says_that_they_are():
    for vector in frames():
        if vector.api_key in (36, 38, 51) and any(vector.raw):
            found = [MARK in marked(random.Random(i), vector).raw for i in range(10)]
            assert any(found) or not has_secret_field(vector), vector


def has_secret_field(vector) -> bool:
    tree = read_tree(message_type(vector.api_key, vector.direction), vector.raw, vector.version)
    return any(leaf.path.rpartition(".")[2] in SECRET_NAMES[vector.api_key] for leaf in tree.leaves())


def test_a_scene_has_the_requests_of_its_capture(ingested, tmp_path):
    write_pcap(tmp_path / "scene.pcap", packets_of(load_scene(CAPTURE)))
    ingest([tmp_path / "scene.pcap"], tmp_path / "scene.kscope")
    columns = [
        "client_port",
        "correlation_id",
        "api_key",
        "api_version",
        "request_bytes",
        "response_bytes",
        "error_code",
    ]
    tables = [
        pq.read_table(place / "requests", columns=columns) for place in (ingested(CAPTURE), tmp_path / "scene.kscope")
    ]
    real, scene = (table.sort_by([(name, "ascending") for name in columns]) for table in tables)
    assert real.equals(scene)
    assert real.num_rows > 50
    checks.check_ledger(tmp_path / "scene.kscope")


def test_a_frame_that_is_lost_is_noticed(tmp_path, monkeypatch):
    rounds = MessageRounds(tmp_path)
    monkeypatch.setattr(rounds, "decode", lambda some: dict.fromkeys(range(len(some) - 1), "row"))
    r = random.Random(3)
    with pytest.raises(FaultError, match="neither a row nor a failure"):
        rounds.run(rounds.make(r), r)


def test_a_secret_is_found_in_cells_reports_and_encodings(tmp_path):
    mark = b"S3cretOfTheFarm"
    for number, content in enumerate((mark, base64.b64encode(b"a" + mark + b"b"), mark.hex().encode())):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "report.html").write_bytes(b"x" + content + b"y")
        with pytest.raises(FaultError, match="a secret is in"):
            checks.check_secrets(folder, [mark])
    cells = pa.table({"a": [{"b": ["x", "x" + mark.decode()]}]})
    (tmp_path / "table").mkdir()
    pq.write_table(cells, tmp_path / "table" / "part.parquet", compression="zstd")
    with pytest.raises(FaultError, match=r"a secret is in part\.parquet"):
        checks.check_secrets(tmp_path / "table", [mark])
    checks.check_secrets(tmp_path / "table", [b"something else"])


def test_other_rows_of_an_unchanged_connection_are_noticed(ingested):
    dataset = ingested(CAPTURE)
    rows = checks.request_rows(dataset)
    checks.check_unchanged(dataset, rows, rows)
    ends = next(iter(rows))
    with pytest.raises(FaultError, match="not changed"):
        checks.check_unchanged(dataset, rows | {ends: rows[ends][1:]}, [ends])


def test_a_failing_round_becomes_small():
    until = time.monotonic() + 10
    assert fewest(range(100), lambda some: {13, 70} <= set(some), until) == [13, 70]
    assert smallest(b"." * 500 + b"x" + b"." * 300, shorter, lambda some: b"x" in some[0], until) == b"x"


def test_what_failed_has_a_name_without_values():
    def fails(value: str) -> int:
        return int(value)

    names = set()
    for value in ("a", "b"):
        try:
            fails(value)
        except ValueError as error:
            names.add(signature(error))
    assert len(names) == 1
    assert signature(FaultError("it ends with 4: something")) == "it ends with 4"


def test_a_process_that_says_nothing_is_killed_and_one_that_dies_is_counted(tmp_path, monkeypatch):
    dies = "import os; print('{\"ready\": true}', flush=True); os.abort()"
    commands = iter((["sleep", "60"], [sys.executable, "-c", dies], [sys.executable, "-c", "1 / 0"]))
    monkeypatch.setattr(runner, "WARM_UP_S", 1)
    monkeypatch.setattr(runner, "MOST_DEATHS", 0)
    worker = runner.Worker
    monkeypatch.setattr(runner, "Worker", lambda _, environment, log: worker(next(commands), environment, log))
    order = runner.Order(1, "usual", 0, tmp_path, time.monotonic() + 60, 0)
    workers = runner.Workers(tmp_path)
    hung, died, broken = (runner.run_layer(LAYERS["messages"], 10, order, workers) for _ in range(3))
    assert list(hung.faults) == ["hang: a round was killed"]
    assert list(died.faults) == ["death: status -6"]
    assert list(broken.faults) == ["the layer does not start"]


def test_growth_is_that_behind_the_beginning():
    assert runner.growth([100] * 10) == 0  # too few rounds to say
    assert runner.growth([0] * 25 + [100] * 75) == 0
    assert runner.growth(list(range(400))) == pytest.approx(200, abs=2)


@pytest.mark.slow
def test_a_run_says_what_failed_and_how_it_is_shown_again(tmp_path):
    run = farm("--layers", "record_sets", "--inputs", "250", "--seed", "7", "--size", "smoke", folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "record_sets: 250 inputs in 1 rounds" in run.stdout
    figures = runner.Figures(LAYERS["messages"], 7, inputs=1234)
    figures.note("something", {"at": 3, "trace": "a trace"})
    figures.note("something", {"at": 9})
    assert "2 x something" in text(figures, tmp_path)
    assert "--layers messages --seed 7 --first 3 --inputs 1" in text(figures, tmp_path)
    assert "| 1,234 |" in markdown([figures])
