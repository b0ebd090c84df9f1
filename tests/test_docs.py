"""The pages say what the program does: tables, commands, captures, files that the pages name."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import COMMANDS, app
from kafkascope_analyzer.report.model.report import Report

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("fixtures/**/*.md")])


@pytest.fixture(scope="module")
def reference(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The script, which imports the pages from the folder beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return load_module(ROOT / "scripts" / "reference_pages.py")


@pytest.fixture(scope="module")
def leader_move(ingested: Callable[..., Path]) -> Path:
    """The dataset of which the pages show examples, without stories."""
    return ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst")


def test_reference_pages_are_current(reference: ModuleType) -> None:
    stale = [name for name, text in reference.contents().items() if (ROOT / "docs" / name).read_text("utf-8") != text]
    assert stale == [], "run scripts/reference_pages.py"
    assert {"commands.md", "protocol.md", "report.md", "roles.md", "tables.md", "rules/README.md"} <= {*reference.PAGES}


def test_check_notices_a_stale_page(reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(reference, "PAGES", {"page.md": lambda: "what it says"})
    monkeypatch.setattr(reference, "FILES", {"../schema/page.json": lambda: "{}"})
    outcomes = []
    for arguments in (["--check"], [], ["--check"]):
        monkeypatch.setattr(sys, "argv", ["reference_pages.py", *arguments])
        outcomes.append(reference.main())
    assert outcomes == [1, 0, 0]
    assert (tmp_path / "docs" / "page.md").read_text() == f"{reference.GENERATED}what it says"
    assert (tmp_path / "schema" / "page.json").read_text() == "{}"


def test_the_files_of_the_table_where_changes_go_exist() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    section = page.partition("\n## Where changes go\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    named = [re.findall(r"`([^`]+/[^`]+)`", row) for row in rows]
    assert [name for names in named for name in names if not (ROOT / name).is_file()] == []
    assert len(rows) == 13
    for names in named:
        sources = [
            name
            for name in names
            if name.endswith((".py", ".json", ".sql")) and not name.startswith(("tests/", "scripts/"))
        ]
        assert 1 <= len(sources) <= 2, names
        assert any(name.startswith("tests/") for name in names), names


def test_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"kafkascope {name}" not in readme] == []


def test_every_capture_is_described() -> None:
    page = (ROOT / "fixtures" / "captures" / "README.md").read_text(encoding="utf-8")
    captures = [p.name.split(".")[0] for p in (ROOT / "fixtures" / "captures").glob("*.pcap*")]
    assert captures
    assert [name for name in captures if f"`{name}`" not in page] == []


def test_every_key_of_the_report_is_described() -> None:
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    keys = [field.name for field in fields(Report)]
    assert {"capture", "clients", "stories"} <= set(keys)
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_every_fixture_folder_is_described() -> None:
    page = (ROOT / "fixtures" / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in (ROOT / "fixtures").iterdir() if p.is_dir() and f"`{p.name}/`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_make_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#:]+)\)", text) if not (page.parent / link).exists()]
    assert links == []
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert [target for target in re.findall(r"^\s+make ([a-z]+)$", text, re.MULTILINE) if target not in targets] == []


def examples_of_events() -> list[tuple[str, str]]:
    """The questions that docs/tables.md asks `events`, each with the output below it."""
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    section = page.partition("\n## events\n")[2].partition("\n## ")[0]
    blocks = [dedent(block) for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE)]
    asked = [number for number, block in enumerate(blocks) if block.startswith("kafkascope sql ")]
    return [(blocks[number], blocks[number + 1]) for number in asked]


def test_events_have_examples_of_every_kind_of_question() -> None:
    commands = " ".join(command for command, _ in examples_of_events())
    assert all(f"events where {column}" in commands for column in ("conn_id = ", "kind = "))


@pytest.mark.parametrize("number", range(len(examples_of_events())))
def test_examples_of_events_print_what_the_page_shows(number: int, leader_move: Path) -> None:
    command, shown = examples_of_events()[number]
    program, sql, name, *arguments = shlex.split(command)
    assert (program, sql, name) == ("kafkascope", "sql", "leader_move.kscope")
    result = CliRunner().invoke(app, ["sql", str(leader_move), *arguments])
    assert result.exit_code == 0, result.output
    assert [line.rstrip() for line in result.stdout.splitlines()] == shown.splitlines()


@pytest.mark.parametrize(
    "script", sorted([*ROOT.glob("scripts/*.sh"), ROOT / ".ci" / "run"]), ids=lambda path: path.name
)
def test_shell_scripts_parse(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False).stderr == b""
    assert script.stat().st_mode & 0o111
