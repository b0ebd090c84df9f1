"""How commands end where a capture has no Kafka, a dataset is damaged, or a place cannot be written."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import CHECKSUM
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import plain

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "fixtures" / "captures" / "healthy_basic.pcap.zst"


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def pcap(packets: list[bytes]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 1_700_000_000, i, len(p), len(p)) + p for i, p in enumerate(packets))


def ip(protocol: int, ends: bytes, payload: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0)
    return bytes(12) + b"\x08\0" + head + ends + payload


def tcp(to_server: bool, seq: int, ack: int, flags: int, payload: bytes = b"") -> bytes:
    ports = (4000, 8080) if to_server else (8080, 4000)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2] if to_server else [10, 0, 0, 2, 10, 0, 0, 1])
    return ip(6, ends, struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + payload)


def conversation(request: bytes, response: bytes) -> list[bytes]:
    end, answered = 2 + len(request), 2 + len(response)
    return [
        tcp(True, 1, 0, 2),
        tcp(False, 1, 2, 0x12),
        tcp(True, 2, 2, 0x18, request),
        tcp(False, 2, end, 0x18, response),
        tcp(True, end, answered, 0x11),
        tcp(False, answered, end + 1, 0x11),
    ]


HTTP = conversation(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
UDP = [ip(17, bytes(8), struct.pack("!HHHH", 1, 2, 8, 0))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packets", "why"),
    [
        ([], "the capture has no packets"),
        (UDP, "none of the 1 packet of the capture belongs to a TCP connection"),
        (HTTP, "no Kafka was found in 1 TCP connection of the capture (1 http)"),
    ],
)
@pytest.mark.parametrize("command", ["ingest", "analyze"])
def test_a_capture_without_kafka_is_said_and_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packets: list[bytes], why: str, command: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    capture, out = tmp_path / "a.pcap", tmp_path / "a.kscope"
    capture.write_bytes(pcap(packets))
    result = run(command, capture, "-o", out)
    assert result.exit_code == 5, result.output
    assert result.stderr.splitlines()[-1] == f"kafkascope: {capture}: {why}"
    shown = run("report", out)
    assert shown.exit_code == 5
    assert run("info", out).exit_code == run("topology", out).exit_code == 5
    assert "Nothing failed" not in shown.stdout
    assert "no rule found a problem" not in shown.stdout
    assert "no client was seen" not in shown.stdout
    headline = plain(report_model(Dataset.open(out)), clip=True)["headline"]
    assert (headline["verdict"], headline["sentence"]) == ("unknown", f"{why[0].upper()}{why[1:]}.")


@pytest.mark.slow
def test_the_timeline_of_a_capture_without_kafka_ends_alike(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(pcap(HTTP))
    result = run("timeline", capture)
    assert result.exit_code == 5, result.output
    assert result.stderr.splitlines()[-1].endswith(": no Kafka was found in 1 TCP connection of the capture (1 http)")


def test_a_dataset_that_lacks_tables_says_which(small: ModuleType, tmp_path: Path) -> None:
    place = small.write_dataset(tmp_path / "small.kscope")
    manifest = json.loads((place / "_dataset.json").read_text())
    del manifest[CHECKSUM]
    for name in ("requests", "stories/clients"):
        del manifest["files"][name]
    (place / "_dataset.json").write_text(json.dumps(manifest))
    said = "The dataset lacks the tables requests, stories/clients: what they show is missing here."
    assert said in " ".join(run("report", place).stdout.split())
    assert plain(report_model(Dataset.open(place)), clip=True)["headline"]["sentence"].startswith(said)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def overwritten(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4:200] = b"\xa5" * 196
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(cut_short, "the Parquet file is damaged"), (overwritten, "the Parquet file is damaged"), (os.remove, "is gone")],
)
@pytest.mark.parametrize("command", [("report",), ("info",), ("sql", "select * from connections")])
def test_a_damaged_file_is_one_sentence_and_exit_code_3(
    small: ModuleType, tmp_path: Path, damage: Callable[[Path], None], said: str, command: tuple[str, ...]
) -> None:
    place = small.write_dataset(tmp_path / "small.kscope")
    file = place / "connections" / "part-0.parquet"
    damage(file)
    name, *rest = command
    result = run(name, place, *rest)
    assert (result.exit_code, result.stdout) == (3, ""), result.output
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith(f"kafkascope: {file}: ")
    assert said in sentence
    assert "kafkascope analyze" in sentence


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="/proc is a directory in which nobody can write")
@pytest.mark.parametrize("command", ["ingest", "analyze"])
def test_a_place_that_cannot_be_written_is_refused_before_the_captures_are_read(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("the captures were read")

    monkeypatch.setattr("kafkascope_analyzer.ingest.run.write_tables", read)
    result = run(command, CAPTURE, "-o", "/proc/a.kscope")
    assert (result.exit_code, result.stdout) == (2, "")
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("kafkascope: /proc/a.kscope: cannot be written: ")
    assert sentence.endswith("; -o names another place")
