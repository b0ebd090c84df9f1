"""No secret comes out: a marked one in every field that may hold one is in no output of any command."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app


def run(*args: object) -> bytes:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code in (0, 3, 5), result.output
    return (result.stdout + result.stderr).encode()


@pytest.fixture(scope="module")
def planted(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The builders of planted.py."""
    return load_module(Path(__file__).with_name("planted.py"))


@pytest.fixture(scope="module")
def w(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The builders of wire.py."""
    return load_module(Path(__file__).with_name("peers") / "wire.py")


@pytest.fixture(scope="module")
def read(planted: ModuleType, w: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, Path]:
    """The dataset of all conversations, what ingest printed, and the folder of its temporary files."""
    folder = tmp_path_factory.mktemp("secrets")
    packets = sorted((p for c in planted.conversations(w) for p in c.packets), key=lambda p: p[0])
    capture = w.write_pcap(folder / "planted.pcap", packets)
    assert len(planted.leaks(capture.read_bytes())) == len(planted.MARK) - planted.PIECE + 1
    scratch = folder / "scratch"
    scratch.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(scratch))
        patch.setattr("tempfile.tempdir", str(scratch))
        printed = run("ingest", capture, "-o", folder / "planted.kscope", "--records")
    return folder / "planted.kscope", printed, scratch


def test_no_cell_of_a_table_has_it(planted: ModuleType, read: tuple[Path, bytes, Path]) -> None:
    dataset, printed, scratch = read
    assert planted.leaks(printed) == []
    found = {str(file): hits for file, rows in planted.tables(dataset) if (hits := planted.leaks(repr(rows).encode()))}
    assert found == {}
    assert planted.leaks((dataset / "_dataset.json").read_bytes()) == []
    assert list(scratch.iterdir()) == []


def test_what_was_planted_was_read(planted: ModuleType, read: tuple[Path, bytes, Path]) -> None:
    dataset, _, _ = read
    decoded = {str(file.parent.parent.relative_to(dataset)): rows for file, rows in planted.tables(dataset)}
    names = {api for api, _, _, _ in planted.messages()}
    read_apis = {path.name for path in (dataset / "messages").iterdir()}
    assert names <= read_apis
    assert decoded
    lengths = repr([rows for file, rows in planted.tables(dataset) if "messages" in file.parts])
    assert lengths.count(f"_length': {len(planted.MARK)}") > 100
    assert lengths.count(f"'data': None, 'length': {len(planted.MARK)}") > 50


def test_no_number_is_made_of_it(planted: ModuleType, read: tuple[Path, bytes, Path]) -> None:
    """No API, version or correlation id of a request is read out of a token that is no request."""
    dataset, _, _ = read
    columns = ["api_key", "api_version", "correlation_id", "status"]
    for row in pq.read_table(dataset / "requests", columns=columns).to_pylist():
        if row["status"] != "orphan_response":  # named by the broker's bytes, as no request is known
            numbers = (
                row["api_key"].to_bytes(2, "big", signed=True),
                row["correlation_id"].to_bytes(4, "big", signed=True),
            )
            assert not [number for number in numbers if number in planted.MARK]


@pytest.mark.parametrize("form", ["--json", "--html", "--markdown", "--perfetto"])
def test_no_report_has_it(planted: ModuleType, read: tuple[Path, bytes, Path], form: str, tmp_path: Path) -> None:
    dataset, _, _ = read
    printed = run("report", dataset, form, tmp_path / "out")
    assert planted.leaks(printed + (tmp_path / "out").read_bytes()) == []
    assert planted.leaks(run("report", dataset)) == []


@pytest.mark.parametrize("selected", [("--from", "+0s"), ("--api", "SaslAuthenticate"), ("--packets", "1-150")])
def test_no_piece_has_it(
    planted: ModuleType, read: tuple[Path, bytes, Path], selected: tuple[str, str], tmp_path: Path
) -> None:
    """Whole, by request, and begun and ended wherever a packet does."""
    dataset, _, _ = read
    capture, piece = dataset.with_name("planted.pcap"), tmp_path / "piece.pcapng"
    printed = run("cut", capture, "--dataset", dataset, *selected, "-o", piece)
    assert planted.leaks(printed + piece.read_bytes()) == []
    assert b"became zeros" in printed
    run("cut", capture, "--dataset", dataset, *selected, "-o", piece, "--overwrite", "--with-secrets")
    assert planted.leaks(piece.read_bytes())


def test_decode_does_not_print_it(planted: ModuleType, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = []
    for n, (_, key, version, by_name) in enumerate(planted.messages()):
        asked, answered = planted.exchange(key, version, by_name, n)
        frames = (asked, planted.resized(asked, planted.MARK), asked[:-3])
        lines += [{"direction": "request", "frame_hex": frame.hex()} for frame in frames]
        of = {"direction": "response", "api_key": key, "version": version}
        lines += [of | {"frame_hex": frame.hex()} for frame in (answered, planted.resized(answered, planted.MARK))]
    (tmp_path / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    printed = run("decode", "--jsonl", tmp_path / "frames.jsonl")
    assert planted.leaks(printed) == []
    assert printed.count(b'_length": 16') > 50
