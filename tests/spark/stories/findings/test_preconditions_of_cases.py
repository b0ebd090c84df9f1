"""Preconditions of the rules on rows made by hand: each case is a dataset of its own, so that no other case satisfies
them. The oracle is the list of rules that must find something in the case, which Spark shows (test_tiny_cases.py,
test_client_cases.py)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkascope_spark.stories.findings.preconditions import Preconditions
from kafkascope_spark.stories.findings.registry import RULES

pytestmark = pytest.mark.slow

S = 1_000_000_000
DETECTORS = {rule.name: rule.detectors for rule in RULES}


@pytest.mark.parametrize("module", ["test_tiny_cases.py", "test_client_cases.py"])
def test_no_precondition_hides_what_a_rule_finds(
    module: str, tmp_path: Path, write_dataset: Any, as_dataset: Any, load_module: Callable[[Path], Any]
) -> None:
    cases = load_module(Path(__file__).with_name(module)).CASES
    hidden = []
    for number, (name, (rows, found)) in enumerate(cases.items()):
        write_dataset(tmp_path / f"{number}", rows)
        preconditions = Preconditions(as_dataset(tmp_path / f"{number}", (S, 100 * S)))
        hidden += [(name, rule) for rule in found if not any(preconditions.satisfied(DETECTORS[rule]))]
    assert len(cases) > 30
    assert hidden == []
