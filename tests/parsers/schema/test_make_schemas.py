"""The committed facts are what the script makes of the jars' definitions, which are kept; and it says what changed."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(ROOT / "scripts" / "make_schemas.py")


@pytest.fixture(scope="module")
def made(script):
    return script.make_facts(*script.load_saved())


def test_committed_facts_are_what_the_script_makes(script, made):
    assert {path.name: path.read_text("utf-8") for path in script.FACTS.glob("*.json")} == made


def test_what_is_kept_are_whole_releases(script):
    releases, errors = script.load_saved()
    assert all(len(r.messages) > 180 for r in releases)
    newest = max(releases, key=lambda r: [int(part) for part in r.version.split(".")])
    assert errors["source"].startswith(f"kafka-clients {newest.version}")


def test_a_new_release_reads_as_what_it_brought(script, made):
    releases, errors = script.load_saved()
    before = script.make_facts([r for r in releases if r.version != "4.4.0"], errors)
    said = script.changes(before, made)
    assert "apis: + UnregisterController: key 94, versions 0-0, flexible 0" in said
    assert "apis: ~ ApiVersions: key 18, versions 0-4, flexible 3 -> key 18, versions 0-5, flexible 3" in said
    assert "018_ApiVersions: + request ClusterId: type string versions 5+ nullableVersions 5+" in said
    assert not [line for line in said if " - " in line or line.startswith("012_")]
    assert script.changes(made, made) == []
    assert "apis: - UnregisterController: key 94, versions 0-0, flexible 0" in script.changes(made, before)


def test_a_layout_that_changed_in_place_is_kept_beside_the_new_one(script):
    releases, _ = script.load_saved()
    name = "ReadShareGroupStateSummaryResponse"
    (former,) = script.former_layouts(releases, name, script.definitions(releases, name))
    assert (former["source"], former["versions"]) == ("kafka-clients 3.9.2", "0-0")
    for other in ("VoteRequest", "FetchResponse", "MetadataResponse"):  # renamed fields are the same layout
        assert script.former_layouts(releases, other, script.definitions(releases, other)) == []


@pytest.mark.parametrize("damage", [("int32", "int64"), None], ids=["changed", "missing"])
def test_check_notices_files_that_are_not_current(script, made, damage, tmp_path, monkeypatch, capsys):
    for name, text in made.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(script, "FACTS", tmp_path)
    assert script.write_or_check(made, check=True) == 0
    if damage:
        (tmp_path / "012_Heartbeat.json").write_text(made["012_Heartbeat.json"].replace(*damage), encoding="utf-8")
    else:
        (tmp_path / "012_Heartbeat.json").unlink()
    assert script.write_or_check(made, check=True) == 1
    assert "012_Heartbeat" in capsys.readouterr().out
    assert script.write_or_check(made, check=False) == 0
    assert script.write_or_check(made, check=True) == 0
