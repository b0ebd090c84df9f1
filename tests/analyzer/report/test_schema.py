"""report.json against its schema, with jsonschema as the judge."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import to_json
from kafkascope_analyzer.report.schema import packaged_schema, report_schema
from kafkascope_analyzer.scan.record_detail import RecordDetail

Write = Callable[..., Path]
CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
HOSTILE = "\x1b[2J\u202e<script>\r\n" + "x" * 300


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(packaged_schema())
    return jsonschema.Draft202012Validator(packaged_schema())


def faults(validator: jsonschema.Draft202012Validator, dataset: Path) -> list[str]:
    report = json.loads(to_json(report_model(Dataset.open(dataset))))
    return [f"{list(fault.absolute_path)}: {fault.message}" for fault in validator.iter_errors(report)]


def test_the_packaged_schema_is_current() -> None:
    assert packaged_schema() == report_schema(), "run scripts/reference_pages.py"


@pytest.mark.parametrize("text", ["", HOSTILE])
@pytest.mark.parametrize("stories", [True, False])
def test_a_report_with_everything_in_it_keeps_to_the_schema(
    validator: jsonschema.Draft202012Validator, dataset: Write, text: str, stories: bool
) -> None:
    assert faults(validator, dataset(text=text, stories=stories)) == []


@pytest.mark.parametrize("name", ["leader_move.pcap.zst", "mid_stream-snap96.pcap.zst", "pieces/tls_hellos.pcap.zst"])
def test_reports_of_real_captures_keep_to_the_schema(
    validator: jsonschema.Draft202012Validator, ingested: Callable[..., Path], name: str
) -> None:
    assert faults(validator, ingested(CAPTURES / name, RecordDetail.BATCHES)) == []


def test_older_stories_keep_to_the_schema(
    validator: jsonschema.Draft202012Validator, dataset: Write, small: ModuleType
) -> None:
    place = dataset()
    for name in ("findings", "rebalances", "transactions", "cadences"):
        shutil.rmtree(place / "stories" / name, ignore_errors=True)
    small.relist(place)
    assert faults(validator, place) == []


def test_the_schema_notices_a_key_that_it_does_not_know(
    validator: jsonschema.Draft202012Validator, dataset: Write
) -> None:
    report = json.loads(to_json(report_model(Dataset.open(dataset()))))
    report["findings"]["listed"][0]["new"] = 1
    del report["clients"]["listed"][0]["kind"]
    report["rebalances"]["groups"][0]["listed"][0]["members"][0]["join_ms"] = "long"
    assert len(list(validator.iter_errors(report))) == 3


def objects(shape: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object that lists its keys, with its path."""
    if "properties" in shape:
        yield path, shape
        for key, inner in shape["properties"].items():
            yield from objects(inner, f"{path}.{key}")
    if "items" in shape:
        yield from objects(shape["items"], f"{path}[]")


def test_every_object_of_the_schema_is_closed_and_every_key_has_a_sentence() -> None:
    for path, shape in objects(report_schema()):
        assert shape["additionalProperties"] is False, path
        unsaid = [key for key, inner in shape["properties"].items() if not inner.get("description")]
        assert unsaid == [] or "members" in path or "held_back" in path or "departed" in path, (path, unsaid)
