"""What holds for every rule: names, texts, pages. Without a JVM."""

import pathlib
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables.events import KIND_FOLDER
from kafkascope_spark.queries.statement import TABLES, rows_read
from kafkascope_spark.stories.findings import thresholds
from kafkascope_spark.stories.findings.pages import index_page, rule_page
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.stories.findings.rules import rebalance_storm, slow_startup
from kafkascope_spark.stories.findings.shared_queries import SHARED_QUERIES
from kafkascope_spark.stories.tables import FINDINGS, INCIDENTS

DOCS = pathlib.Path(__file__).parents[4] / "docs" / "rules"
SEVERITIES = FINDINGS.column("severity").values
KINDS = set(INCIDENTS.column("kind").values)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_is(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z][a-z_]+", rule.name)
    assert rule.severity in SEVERITIES
    assert not rule.title.endswith(".")
    for text in (rule.meaning, rule.looks_at, rule.advice):
        assert len(text) > 25
        assert text.endswith(".")
    assert rule.sources
    assert set(rule.unless) <= {other.name for other in RULES if not other.unless}, (
        "one of them may be explained itself"
    )
    assert rule.follows is None or rule.follows.kinds <= KINDS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_its_page(rule: Rule) -> None:
    page = (DOCS / f"{rule.name}.md").read_text(encoding="utf-8")
    assert rule_page(rule) in page, "run scripts/reference_pages.py"
    for text in (rule.title, rule.meaning, rule.looks_at, rule.advice, *rule.sources):
        assert text in page


def test_the_list_of_rules_is_whole() -> None:
    assert index_page(RULES) in (DOCS / "README.md").read_text(encoding="utf-8")
    assert sorted(page.stem for page in DOCS.glob("*.md")) == sorted(["README", *(rule.name for rule in RULES)])


def test_names_are_unique_and_sorted() -> None:
    names = [rule.name for rule in RULES]
    assert names == sorted(set(names))


def test_every_threshold_says_where_it_comes_from() -> None:
    source = pathlib.Path(thresholds.__file__).read_text(encoding="utf-8")
    names = re.findall(r"^([A-Z_]+) = ", source, re.MULTILINE)
    assert names
    assert re.findall(r'^([A-Z_]+) = .*\n"""', source, re.MULTILINE) == names


def test_no_query_names_a_part_of_itself_as_a_table_is_named() -> None:
    """A view would take the place of that part (statement.QueryViews)."""
    detectors = [detector for rule in RULES for detector in rule.detectors]
    parts = {name for detector in detectors for name in detector.reads if name not in SHARED_QUERIES}
    for query in (*(detector.query for detector in detectors), *SHARED_QUERIES.values()):
        parts |= set(re.findall(r"(\w+) as \(\s*(?:select|with)", query))
    assert "joins_and_leaves" in parts
    assert not parts & {*TABLES, *SHARED_QUERIES}


def test_rows_that_queries_read_are_those_of_their_tables(tmp_path: pathlib.Path, as_dataset: Any) -> None:
    """The storm of rebalances reads requests, the events `usage` by a shared query, and stories."""
    folders = {"requests": 3, "partitions": 100, f"events/{KIND_FOLDER}usage": 20, f"events/{KIND_FOLDER}loop": 1_000}
    for folder, n in (folders | {"stories/rebalances": 4, "stories/startups": 7}).items():
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(pa.table({"conn_id": ["c"] * n}), tmp_path / folder / "part-0.parquet")
    dataset = as_dataset(tmp_path, (0, 1))
    storm, slow = rebalance_storm.RULE.detectors, slow_startup.RULE.detectors
    assert rows_read(dataset, storm) == 3 + 20 + 4
    assert rows_read(dataset, slow) == 7
    assert rows_read(dataset, [*storm, *slow]) == 3 + 20 + 4 + 7
