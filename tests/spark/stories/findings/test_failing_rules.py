"""Rules whose queries Spark cannot run are named, and the others find what they find."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.story_files import new_run_id
from kafkascope_spark.stories.findings import registry
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.story_writer import StoryRun
from kafkascope_spark.tables import Tables
from kafkascope_spark.write_stories import write_findings

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FACTS = "null as client_instance_id, null as conn_ids, 1 as n, 1L as first_ns, 2L as last_ns, array('c') as evidence"


def rule(name: str, query: str) -> Rule:
    some = registry.RULES[0]
    texts = {"subject": lambda _: None, "sentence": lambda _: "found", "advice": None}
    detector = replace(some.detectors[0], reads={}, candidates=None, query=query, **texts)
    return replace(some, name=name, detectors=(detector,), unless=(), follows=None)


def test_a_query_that_fails_costs_its_rule_alone(
    spark: Any, dataset_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset.open(dataset_of("healthy_basic"))
    overflow = "9223372036854775807 + count(*) as first_ns"
    chosen = (
        rule("good", f"select {FACTS}"),
        rule("unknown_column", f"select nothing, {FACTS} from connections"),
        rule("overflows", f"select {FACTS.replace('1L as first_ns', overflow)} from connections"),
    )
    monkeypatch.setattr(registry, "RULES", chosen)
    run = StoryRun(dataset, dataset.capture_span or (0, 0), new_run_id())
    files, failed = write_findings(Tables(spark, dataset), run)
    assert [row.rows for row in files["stories/findings"]] == [1]
    assert {name for part in failed for name in part.names} == {"unknown_column", "overflows"}
    assert {part.kind for part in failed} == {"rule"}
    assert "ARITHMETIC_OVERFLOW" in " ".join(part.reason for part in failed)
    for name, written in files.items():
        for file in written:
            (Path(dataset.path) / file.path).unlink(missing_ok=True)
        assert name == "stories/findings"
