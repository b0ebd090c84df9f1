"""Inputs that people really give: what is unreadable ends with one sentence, its exit code, and nothing on disk."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_parsers.errors import UsageError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
SMALL = CAPTURES / "mid_stream-any.pcap.zst"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def unpacked() -> bytes:
    with SMALL.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


UNREADABLE = {
    "empty.pcap": b"",
    "text.pcap": b"This is no capture.\n" * 100,
    "head.pcap": b"\xd4\xc3\xb2\xa1\x02",
    "cut.pcap.gz": gzip.compress(b"not a capture")[:12],
    "rubbish.pcap.zst": b"\x28\xb5\x2f\xfd" + bytes(range(256)),
}


@pytest.mark.parametrize("command", ["ingest", "analyze", "info"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_capture_is_named(here: Path, command: str, name: str) -> None:
    (here / name).write_bytes(UNREADABLE[name])
    result = run(command, name)
    assert result.exit_code == 3, result.output
    assert result.stderr.startswith(f"kafkascope: {name}: ")
    assert result.stderr.count("\n") == 1
    assert [p.name for p in here.iterdir()] == [name]


@pytest.mark.parametrize("command", ["ingest", "analyze", "info"])
def test_what_is_not_there_is_named(here: Path, command: str) -> None:
    result = run(command, "missing.pcap")
    assert (result.exit_code, result.stderr) == (3, "kafkascope: missing.pcap: no such file or directory\n")
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("command", ["ingest", "analyze", "info"])
def test_a_directory_without_captures_is_a_wrong_call(here: Path, command: str) -> None:
    (here / "dir").mkdir()
    (here / "dir" / "notes.txt").write_text("nothing")
    result = run(command, "dir")
    assert result.exit_code == 2
    assert "dir" in result.stderr
    assert [p.name for p in here.iterdir()] == ["dir"]


def test_a_corrupt_record_leaves_nothing_half_written(here: Path) -> None:
    data = bytearray(unpacked()[:20_000])
    data[24 + 8 : 24 + 12] = b"\xff\xff\xff\x7f"
    (here / "bad.pcap").write_bytes(data)
    result = run("ingest", "bad.pcap", "-q")
    assert result.exit_code == 3
    assert "byte 24" in result.stderr
    assert [p.name for p in here.iterdir()] == ["bad.pcap"]


def corrupt(data: bytes, n: int) -> tuple[bytes, int]:
    """The capture with an impossible length in its n-th record, and where that record begins."""
    at = 24
    for _ in range(n):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    return data[: at + 8] + b"\xff" * 4 + data[at + 12 :], at


def test_what_cannot_be_read_is_said_and_the_rest_is_kept(here: Path) -> None:
    data, at = corrupt(unpacked(), 1000)
    (here / "bad.pcap").write_bytes(data)
    sentence = f"bad.pcap: byte {at}: a packet that says it holds more than 262144 bytes; "
    result = run("ingest", "bad.pcap", "-q", "--format", "plain")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"kafkascope: {sentence}")
    assert result.stderr.count("\n") == 1
    assert sentence[:40] in result.stdout
    model = json.loads(run("info", "bad.pcap", "--format", "json").stdout)
    manifest = json.loads((here / "bad.kscope" / "_dataset.json").read_text())["inputs"][0]
    assert model["files"][0]["cut_at_byte"] == manifest["cut_at_byte"] == at
    assert model["n_packets"] == manifest["packets"] == 3108
    assert model["whole"]
    assert str(at) in run("info", "bad.pcap", "--format", "plain").stdout


def test_a_file_still_being_written_gives_its_whole_packets(here: Path) -> None:
    (here / "growing.pcap").write_bytes(unpacked()[:-7])
    result = run("ingest", "growing.pcap", "-q", "--format", "json")
    assert result.exit_code == 0
    (file,) = json.loads(result.stdout)["capture"]["files"]
    assert file["n_packets"] == 3108
    assert "last packet is not whole" in file["cut_why"]
    assert "last packet is not whole" in result.stderr


def test_a_terminal_is_no_capture(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="terminal"):
        expand_inputs(["-"])


@pytest.mark.slow
def test_a_dataset_that_is_there_is_kept_unless_overwritten(here: Path) -> None:
    assert run("ingest", SMALL, "-q").exit_code == 0
    before = (here / "mid_stream-any.kscope" / "_dataset.json").stat().st_mtime_ns
    refused = run("ingest", SMALL, "-q")
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert (here / "mid_stream-any.kscope" / "_dataset.json").stat().st_mtime_ns == before
    assert run("ingest", SMALL, "-q", "--overwrite").exit_code == 0
    assert (here / "mid_stream-any.kscope" / "_dataset.json").stat().st_mtime_ns != before
    assert [p.name for p in here.iterdir()] == ["mid_stream-any.kscope"]


@pytest.mark.parametrize("command", ["ingest", "analyze"])
def test_what_is_no_dataset_is_never_overwritten(here: Path, command: str) -> None:
    (here / "precious").mkdir()
    (here / "precious" / "photo.jpg").touch()
    result = run(command, SMALL, "-o", "precious", "--overwrite")
    assert result.exit_code == 2
    assert (here / "precious" / "photo.jpg").exists()


def test_stories_of_what_is_no_dataset(here: Path) -> None:
    (here / "dir").mkdir()
    result = run("stories", "dir")
    assert result.exit_code == 2
    assert "not a kafkascope dataset" in result.stderr


def test_ingest_prints_what_the_tables_tell_and_info_says_the_same(here: Path) -> None:
    ingested = run("ingest", SMALL, "-q", "--format", "json")
    assert ingested.exit_code == 0
    model = json.loads(ingested.stdout)
    assert model["capture"]["n_packets"] == 3109
    assert model["capture"]["files"][0]["path"] == str(SMALL)
    shown = json.loads(run("info", "mid_stream-any.kscope", "--format", "json").stdout)
    ledger = shown.pop("ledger")
    assert shown == model
    assert ledger["totals"]["undecoded_bytes"] == sum(reason["bytes"] for reason in ledger["reasons"]) > 0


def test_info_on_a_capture(here: Path) -> None:
    model = json.loads(run("info", SMALL, "--format", "json").stdout)
    assert (model["n_packets"], model["whole"]) == (3109, True)
    assert model["files"][0]["link_types"] == "LINUX_SLL2"
    kafka = [server["address"] for server in model["servers"] if server["speaks"] == "kafka"]
    assert {f"10.77.0.{broker}:9092" for broker in (11, 12, 13)} <= set(kafka)
    text = run("info", SMALL, "--format", "plain").stdout
    assert text.isascii()
    assert "10.77.0.12:9092" in text
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_standard_input_is_a_capture(here: Path) -> None:
    command = [sys.executable, "-m", "kafkascope_analyzer.cli", "ingest", "-", "-q", "--format", "json"]
    done = subprocess.run(command, input=unpacked(), capture_output=True, cwd=here, check=True)
    assert json.loads(done.stdout)["capture"]["n_packets"] == 3109
    assert (here / "stdin.kscope" / "_dataset.json").is_file()


@pytest.mark.slow
def test_ingest_and_info_leave_spark_alone(here: Path) -> None:
    program = (
        "import sys, kafkascope_analyzer.cli.app as cli\n"
        "for words in sys.argv[1:]:\n"
        "    cli.app(words.split(), standalone_mode=False)\n"
        "sys.exit('pyspark' in sys.modules)"
    )
    words = [f"ingest {SMALL} -q", "info mid_stream-any.kscope", f"info {SMALL}"]
    assert subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=False).returncode == 0


def test_decode_wants_to_be_told_the_format() -> None:
    assert run("decode", "x.jsonl").exit_code == 2
