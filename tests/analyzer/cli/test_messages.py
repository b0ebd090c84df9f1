"""What commands say on standard error: sentences, and JSON where JSON was asked for."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cli.messages import Messages, asks_for_json
from kafkascope_analyzer.cli.options import Format

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def say_all(messages: Messages) -> None:
    messages.error("a\x1b[2Jb\u202e.pcap: empty", 3)
    messages.warn("cut")
    messages.note("done")
    replace(messages, quiet=True).note("silent")


def test_sentences_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    say_all(Messages())
    assert capsys.readouterr().err == "kafkascope: a\ufffd[2Jb\ufffd.pcap: empty\nkafkascope: cut\ndone\n"


def test_as_json_each_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    say_all(Messages.of(Format.json))
    shown = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    error = {"error": "a\ufffd[2Jb\ufffd.pcap: empty", "exit_code": 3}
    assert shown == [error, {"warning": "cut"}, {"note": "done"}]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["report", "x", "--format", "json"], True),
        (["sql", "x", "select 1", "--format=jsonl"], True),
        (["report", "x", "--format", "json", "--format", "plain"], False),
        (["sql", "x", "select '--format json'"], False),
        (["report", "--json", "x"], False),
    ],
)
def test_json_is_chosen_by_the_format(arguments: list[str], wanted: bool) -> None:
    assert asks_for_json(arguments) is wanted


JSON = ("--format", "json")
FAILING: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no dataset": (("report", "x.kscope"), 2, "`kafkascope analyze CAPTURE -o x.kscope` makes one"),
    "no capture": (("info", "x.pcap"), 3, "x.pcap: no such file or directory"),
    "no id": (("explain", "x.kscope"), 2, "Missing argument"),
    "no such option": (("timeline", "x", "--clinet", "a"), 2, "--clinet"),
    "no value": (("topology", "x", "--at"), 2, "--at"),
    "wrong value": (("stories", "x", "--fail-on", "worst"), 2, "worst"),
    "no such table": (("tables", "reqests"), 2, "did you mean requests"),
    "no query": (("sql", "x.kscope"), 2, "SELECT"),
    "two datasets": (("diff", "x.kscope", "y.kscope"), 2, "x.kscope"),
    "no captures": (("ingest",), 2, "Missing argument"),
    "no room": (("analyze", "x.pcap", "-o", "missing/x.kscope"), 2, "missing/x.kscope"),
    "no such command": (("reprot", "x"), 2, "report"),
}


@pytest.mark.parametrize("name", FAILING)
def test_every_command_fails_with_one_line_of_json_where_json_was_asked(name: str) -> None:
    arguments, code, about = FAILING[name]
    result = run(arguments[0], *JSON, *arguments[1:])
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()
    error = json.loads(line)
    assert set(error) == {"error", "exit_code"}
    assert (error["exit_code"], about in error["error"]) == (code, True), error


def test_who_gives_a_capture_as_a_dataset_reads_how_to_make_one() -> None:
    Path("a.pcap").touch()
    result = run("report", "a.pcap")
    assert result.exit_code == 2
    assert "`kafkascope analyze a.pcap` makes a dataset of it" in result.stderr


def test_notes_and_warnings_are_json_too(tmp_path: Path) -> None:
    result = run("ingest", str(CAPTURES / "mid_stream-any.pcap.zst"), "-o", "x.kscope", *JSON)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["report_version"] == 1
    assert [json.loads(line) for line in result.stderr.splitlines()] == [{"note": "dataset: x.kscope"}]
