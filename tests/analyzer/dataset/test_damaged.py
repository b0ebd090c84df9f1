"""Damaged datasets: each command names the file in one sentence, and no flipped bit becomes another value."""

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import CHECKSUM, MANIFEST, checksum_of
from kafkascope_analyzer.dataset.manifest_reader import parse_manifest, read_manifest
from kafkascope_analyzer.dataset.parquet_files import batches_of
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import DamagedDatasetError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
LATER, SMALL = CAPTURES / "path_cut.pcap.zst", CAPTURES / "zk_gap.pcap.zst"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that can be extended."""
    place = tmp_path_factory.mktemp("damaged") / "a.kscope"
    ingest([SMALL], place, replace(IngestOptions(), append=True))
    return place


@pytest.fixture
def place(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "a.kscope"))


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


def flip(file: Path, byte: int, bit: int) -> bytes:
    """Flips a bit; returns what the file held."""
    data = file.read_bytes()
    file.write_bytes(data[:byte] + bytes([data[byte] ^ 1 << bit]) + data[byte + 1 :])
    return data


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flipped(file: Path) -> None:
    flip(file, file.stat().st_size - 30, 3)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def other_schema(file: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), file)


DAMAGES = [cut, empty, flipped, Path.unlink, pipe, folder, loop, other_schema]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_named(place: Path, damage: Callable[[Path], None]) -> None:
    file = min((place / "requests").rglob("*.parquet"))
    damage(file)
    code, said = run("sql", place, "select count(*) from requests")
    assert code == 3, said
    assert said.startswith(f"kafkascope: {file}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_message_is_named(place: Path, damage: Callable[[Path], None]) -> None:
    """The first file of a message has its schema: it is opened before its pages are read."""
    file = min((place / "messages").rglob("*.parquet"))
    damage(file)
    api = file.relative_to(place).parts[1]
    direction = file.relative_to(place).parts[2]
    code, said = run("sql", place, f"select count(*) from messages.{api}_{direction}")
    assert code == 3, said
    assert said.startswith(f"kafkascope: {file}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("damage", [cut, empty, flipped, pipe, folder, loop])
def test_a_damaged_manifest_is_named(place: Path, damage: Callable[[Path], None]) -> None:
    damage(place / MANIFEST)
    code, said = run("topology", place)
    assert code == 3, said
    assert f"{place}/{MANIFEST}" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["info", "{}"],
        ["sql", "{}", "select * from requests"],
        ["report", "{}"],
        ["timeline", "{}"],
        ["explain", "{stories}", "r1"],
        ["diff", "{stories}", "{stories}"],
        ["topology", "{}"],
        ["cut", "{}", "--from", "+0", "-o", "-"],
        ["compact", "{}"],
        ["ingest", str(LATER), "-o", "{}", "--append", "-q"],
    ],
)
def test_each_command_names_a_damaged_file(place: Path, leader_move: Path, command: list[str]) -> None:
    manifest = json.loads((place / MANIFEST).read_bytes())
    for table, listed in manifest["files"].items():
        for file in list(listed) if command[0] == "compact" else ():
            twin = {**file, "path": f"{table}/part-0-{'0' * 12}.parquet"}
            shutil.copy(place / file["path"], place / twin["path"])
            listed.append(twin)
    manifest[CHECKSUM] = checksum_of(manifest)
    (place / MANIFEST).write_text(json.dumps(manifest))
    for file in (*place.rglob("*.*"), *leader_move.rglob("*.*")):
        if file.is_file() and file.name != MANIFEST:
            cut(file)
    before = sorted(place.rglob("*"))
    code, said = run(*(word.format(place, stories=leader_move) for word in command))
    assert code == 3, said
    (sentence,) = said.splitlines()
    assert sentence.startswith((f"kafkascope: {place}/", f"kafkascope: {leader_move}/"))
    assert "damaged" in sentence
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_disk_that_fails_is_named(place: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def fails(path: object, *arguments: int, **named: int) -> int:
        if "requests" in str(path):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", fails)
    code, said = run("sql", place, "select * from requests")
    assert (code, os.strerror(number) in said, said.count("\n")) == (3, True, 1), said


@pytest.mark.parametrize("flips", [60, pytest.param(3_000, marks=pytest.mark.lab)])
def test_no_flipped_bit_becomes_a_value(place: Path, flips: int) -> None:
    """Of 60 flipped bits 25 once came back as other values."""
    whole = Dataset.open(place)
    rows = {name: whole.read(name) for name in whole.tables}
    table_of = {place / path: name for name in whole.tables for path in whole.files(name)}
    files, chance = [*table_of, place / MANIFEST], random.Random(flips)
    named: list[tuple[str, str]] = []
    for _ in range(flips):
        file = chance.choice(files)
        data = flip(file, chance.randrange(file.stat().st_size), chance.randrange(8))
        try:
            opened = Dataset.open(place)
            assert opened.manifest == whole.manifest
            name = table_of.get(file, "requests")
            assert opened.read(name).equals(rows[name]), f"{file}"
        except DamagedDatasetError as error:
            named.append((str(error), str(file if file in table_of else place)))
        file.write_bytes(data)
    assert len(named) > flips // 2
    assert all(name in sentence for sentence, name in named)


def test_rows_that_pyarrow_leaves_out_are_missed(place: Path) -> None:
    """It ends a column at a page whose type it does not know, and gives no rows then."""
    file = min((place / "requests").rglob("*.parquet"))
    with pq.ParquetFile(file) as whole:
        first = min(whole.metadata.row_group(0).column(n).data_page_offset for n in range(whole.metadata.num_columns))
    flip(file, first + 1, 4)
    with pq.ParquetFile(file) as opened, pytest.raises((pa.ArrowException, OSError)):
        list(batches_of(opened))


def test_a_manifest_that_is_nested_too_deep(place: Path) -> None:
    (place / MANIFEST).write_text("[" * 100_000)
    assert run("info", place)[0] == 3
    (place / MANIFEST).write_text('{"schema_version":' + "[" * 100_000)
    code, said = run("report", place)
    assert (code, said.count("\n")) == (3, 1), said


def test_an_option_that_no_float_can_hold(place: Path) -> None:
    content = json.loads((place / MANIFEST).read_bytes())
    del content[CHECKSUM]
    content["options"]["buckets"] = "LARGE"
    (place / MANIFEST).write_text(json.dumps(content).replace('"LARGE"', "1e999"))
    code, said = run("report", place)
    assert (code, said.count("\n")) == (3, 1), said
    assert "options.buckets is not a number" in said


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("../a\0"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=150)
def test_a_manifest_is_read_or_damaged(written: Path, data: st.DataObject) -> None:
    storage = Storage.of(written)
    content = json.loads((written / MANIFEST).read_bytes())
    parent: object = content
    for _ in range(data.draw(st.integers(1, 4))):
        keys = [*parent] if isinstance(parent, dict) else [*range(len(parent))] if isinstance(parent, list) else []
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        within, parent = parent, parent[key]  # type: ignore[index]
    within[key] = data.draw(ANYTHING)  # type: ignore[index]
    del content[CHECKSUM]
    try:
        manifest = parse_manifest(content, storage)
    except DamagedDatasetError:
        return
    assert all(".." not in path and not path.startswith("/") and "\0" not in path for path in manifest.paths)
    assert all(0 <= file.rows < 1 << 63 for listed in manifest.files.values() for file in listed)
    assert read_manifest(manifest.to_json().encode(), storage) == manifest
    assert json.loads(manifest.to_json())[CHECKSUM] == manifest.checksum
