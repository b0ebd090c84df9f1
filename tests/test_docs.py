"""The pages say what the program does: tables, commands, captures, files that the pages name."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("fixtures/**/*.md")])


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "scripts" / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["tables.md", "commands.md", "protocol.md", "report.md"])
def test_reference_pages_are_current(reference: ModuleType, name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == reference.PAGES[name](), "run scripts/reference_pages.py"


def test_check_notices_a_stale_page(reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(sys, "argv", ["reference_pages.py", "--check"])
    assert reference.main() == 1
    monkeypatch.setattr(sys, "argv", ["reference_pages.py"])
    assert reference.main() == 0
    monkeypatch.setattr(sys, "argv", ["reference_pages.py", "--check"])
    assert reference.main() == 0


def test_readme_names_every_command(reference: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in reference.COMMANDS if f"kafkascope {name}" not in readme] == []


def test_every_capture_is_described() -> None:
    page = (ROOT / "fixtures" / "captures" / "README.md").read_text(encoding="utf-8")
    captures = [p.name.split(".")[0] for p in (ROOT / "fixtures" / "captures").glob("*.pcap*")]
    assert captures
    assert [name for name in captures if f"`{name}`" not in page] == []


def test_every_key_of_the_report_is_described() -> None:
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    source = (ROOT / "analyzer" / "kafkascope_analyzer" / "report" / "model.py").read_text(encoding="utf-8")
    keys = re.findall(r'"([a-z_]+)": ', source)
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


@pytest.mark.parametrize(
    "script", sorted([*ROOT.glob("scripts/*.sh"), ROOT / ".ci" / "run"]), ids=lambda path: path.name
)
def test_shell_scripts_parse(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False).stderr == b""
    assert script.stat().st_mode & 0o111
