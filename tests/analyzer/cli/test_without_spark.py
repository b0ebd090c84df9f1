"""Without the extra `stories` (no Spark, no pandas): tables are written and read, and what needs Spark says what to
install."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CAPTURE = ROOT / "fixtures" / "captures" / "pieces" / "sasl_users.pcap.zst"
PROGRAM = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None  # as where they are not installed


class NoPandas:  # None would not do for Cython's imports
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoPandas())
import json
from typer.testing import CliRunner
from kafkascope_analyzer.cli.app import app
for words in json.load(sys.stdin):
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""
HOW = "pyspark is not installed: pip install 'kafkascope[stories]'"


@pytest.fixture(scope="session")
def place(told_leader_move: Path) -> Path:
    return told_leader_move


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def kafkascope(here: Path, *commands: tuple[object, ...]) -> list[Done]:
    """What each of the commands printed, run in their order by one process."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    program = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(program, cwd=here, input=words, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return [Done(*json.loads(line)) for line in told.stdout.splitlines()]


@pytest.mark.slow
def test_a_dataset_is_read(place: Path) -> None:
    said = {
        ("report", place): "broker down: node 3",
        ("report", place, "--json", "-"): '"incidents"',
        ("sql", place, "select count(*) as n from incidents"): "n",
        ("explain", place, "order-api-5"): "order-api-5",
        ("timeline", place): "node 3",
        ("topology", place): "node 3",
        ("diff", place, place): "as before",
    }
    for words, done in zip(said, kafkascope(place.parent, *said), strict=True):
        assert (done.code, done.err) == (0, ""), words
        assert said[words] in done.out, words


@pytest.mark.slow
def test_a_capture_is_read_and_cut(tmp_path: Path) -> None:
    analyze = ("analyze", CAPTURE, "-o", "a.kscope", "-q")
    info, done, cut = kafkascope(
        tmp_path, ("info", CAPTURE), analyze, ("cut", "a.kscope", "--api", "Metadata", "-o", "piece.pcapng")
    )
    assert "packets" in info.out
    assert done.code == 0
    assert f"no stories were made (they need Spark and Java 17 or newer). {HOW}" in done.err
    assert "select" not in done.out
    assert cut.code == 0, cut.err
    assert (tmp_path / "piece.pcapng").stat().st_size > 0


def test_what_needs_spark_says_what_to_install(place: Path) -> None:
    commands: list[tuple[object, ...]] = [
        ("stories", "leader_move.kscope"),
        ("stories", "leader_move.kscope", "--remote", "sc://host:15002"),
        ("ingest", CAPTURE, "-o", "b.kscope", "--master", "local[1]", "-q"),
        ("analyze", CAPTURE, "-o", "b.kscope", "--fail-on", "warning", "-q"),
        ("timeline", CAPTURE),
    ]
    for words, done in zip(commands, kafkascope(place.parent, *commands), strict=True):
        assert done.code == 2, words
        assert done.err.strip().endswith(HOW), words
        assert len(done.err.strip().splitlines()) == 1, words
