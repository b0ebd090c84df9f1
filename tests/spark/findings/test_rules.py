"""What holds for every rule: names, texts, pages; and signs, without a JVM."""

import pathlib
import re

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.stories import FINDINGS, RECOVERIES, STORY_TABLES
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, ERRORS, INGEST_TABLES
from kafkascope_spark.findings import thresholds
from kafkascope_spark.findings.pages import index_page, rule_page
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.rules import RULES
from kafkascope_spark.findings.signs import Sign, Signs

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "rules"
SEVERITIES = FINDINGS.column("severity").values


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_is(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z][a-z_]+", rule.name)
    assert rule.severity in SEVERITIES
    assert not rule.title.endswith(".")
    for text in (rule.meaning, rule.looks_at, rule.advice):
        assert len(text) > 25
        assert text.endswith(".")
    assert rule.sources
    assert set(rule.unless) <= {other.name for other in RULES}


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


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_signs_name_columns_that_there_are(rule: Rule) -> None:
    tables = {table.name: table for table in (*INGEST_TABLES, *STORY_TABLES)}
    for sign in (*rule.signs, *(sign for way in rule.also for sign in way.signs)):
        if sign.column is not None:
            known = tables[sign.table.name].column(sign.column).values
            assert not known or sign.values <= set(known)


def test_every_threshold_says_where_it_comes_from() -> None:
    source = pathlib.Path(thresholds.__file__).read_text(encoding="utf-8")
    names = re.findall(r"^([A-Z_]+) = ", source, re.MULTILINE)
    assert names
    assert re.findall(r'^([A-Z_]+) = .*\n"""', source, re.MULTILINE) == names


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> pathlib.Path:
    for name, rows in {
        "errors": [{"error_name": "NONE"}, {"error_name": "NOT_COORDINATOR"}, {"error_name": None}],
        "captures": [{"n_dropped": 3}, {"n_dropped": None}],
        "connections": [{"api_versions_used": ["Fetch:4", "Produce:2"]}, {"api_versions_used": None}],
        "stories/recoveries": [],
    }.items():
        (tmp_path / name).mkdir(parents=True)
        schema = None if rows else pa.schema([("first_error_name", pa.string())])
        pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / name / "part-0.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("sign", "there"),
    [
        (Sign(ERRORS, "error_name", frozenset({"NOT_COORDINATOR", "OTHER"})), True),
        (Sign(ERRORS, "error_name", frozenset({"OTHER"})), False),
        (Sign(ERRORS, "error_name", pattern="^(?!NONE$)"), True),
        (Sign(ERRORS, "error_name", pattern="LEADER"), False),
        (Sign(ERRORS, "no_such_column", frozenset({"NONE"})), False),
        (Sign(CAPTURES, "n_dropped", above=2), True),
        (Sign(CAPTURES, "n_dropped", above=3), False),
        (Sign(CONNECTIONS, "api_versions_used", frozenset({"Produce:2"})), True),
        (Sign(CONNECTIONS, "api_versions_used", frozenset({"Produce:3"})), False),
        (Sign(CONNECTIONS), True),
        (Sign(RECOVERIES), False),
        (Sign(RECOVERIES, "first_error_name", frozenset({"NONE"})), False),
        (Sign(FINDINGS), False),
        (Sign(CAPTURES, where=ds.field("n_dropped") == 3), True),
        (Sign(CAPTURES, where=ds.field("n_dropped") == 4), False),
        (Sign(RECOVERIES, where=ds.field("first_error_name") == "NONE"), False),
    ],
)
def test_signs(dataset: pathlib.Path, sign: Sign, there: bool) -> None:
    assert Signs(dataset).shows_any([sign]) is there


def test_no_sign_is_always_there(tmp_path: pathlib.Path) -> None:
    assert Signs(tmp_path).shows_any([])
