"""A rule that this module adds: what it finds is in the table findings and in the report, and it is in `kafkascope
rules` and in the pages of the documentation, without a change elsewhere."""

import importlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.findings import registry, rules
from kafkascope_spark.stories.findings.conditions import at_least
from kafkascope_spark.stories.findings.pages import index_page, rule_page
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Rule
from kafkascope_spark.stories.findings.table import FindingRow

QUERY = """
select null as client_instance_id, null as conn_ids, server_port, count(*) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns, array_sort(collect_set(conn_id)) as evidence
from busy group by server_port"""
RULE = Rule(
    name="busy_port",
    title="A port is used",
    severity="warning",
    meaning="Somebody talks to somebody.",
    looks_at="Connections with requests.",
    advice="Do nothing about it.",
    sources=("RFC 9293",),
    detectors=(
        Detector(
            reads={"busy": Where(CONNECTIONS, n_requests=at_least(1), protocol="kafka")},
            query=QUERY,
            subject=lambda f: f"port {f.server_port}",
            sentence=lambda f: f"Port {f.server_port} was used by {f.n} connections from {f.begin(f.first_ns)}",
        ),
    ),
)


@pytest.fixture
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "RULES", (*registry.RULES, RULE))


@pytest.mark.usefixtures("_added")
def test_the_command_and_the_pages_have_it() -> None:
    listed = CliRunner().invoke(app, ["rules"])
    assert "busy_port" in listed.stdout
    assert "A port is used" in listed.stdout
    page = CliRunner().invoke(app, ["rules", "busy_port"])
    assert "Somebody talks to somebody." in page.stdout
    assert "[busy_port](busy_port.md) | warning | A port is used" in index_page(registry.RULES)
    assert "# busy_port" in rule_page(RULE)


def test_a_module_in_the_folder_is_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry needs no line for it."""
    (tmp_path / "zz_new_rule.py").write_text(f"from {__name__} import RULE\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    before = registry.RULES
    try:
        assert (*before, RULE) == importlib.reload(registry).RULES
    finally:
        monkeypatch.undo()
        sys.modules.pop(f"{rules.__name__}.zz_new_rule", None)
        importlib.reload(registry)
    assert before == registry.RULES


@pytest.mark.spark
@pytest.mark.usefixtures("_added", "spark")
def test_the_table_and_the_report_have_what_it_finds(dataset_of: Callable[..., Path], tmp_path: Path) -> None:
    place = tmp_path / "a.kscope"
    shutil.copytree(dataset_of("healthy_basic"), place)
    others = [argument for rule in registry.RULES if rule is not RULE for argument in ("--ignore", rule.name)]
    assert CliRunner().invoke(app, ["stories", str(place), "-q", *others]).exit_code == 0
    found = [row for row in read(Dataset.open(place), FindingRow) if row.rule == "busy_port"]
    assert [row.severity for row in found] == ["warning"] * len(found)
    assert found
    out = tmp_path / "report.json"
    assert CliRunner().invoke(app, ["report", str(place), "--json", str(out), "-q"]).exit_code == 0
    listed = json.loads(out.read_text(encoding="utf-8"))["findings"]["listed"]
    assert {row.sentence for row in found} <= {row["sentence"] for row in listed}
    assert all(row.sentence.startswith("Port ") and " connections from " in row.sentence for row in found)
