"""What all advice has in common, by its texts (scripts/reference/advice.py makes a page of them)."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_spark.stories.findings.wording import SECURED
from kafkascope_spark.stories.incidents.kinds import KINDS

SOURCE = Path(__file__).parents[1] / "scripts" / "reference" / "advice.py"
COMMAND = re.compile(r"kafka-[a-z-]+\.sh (?:--bootstrap-server|\{)[^;]*")
WITH_TOOL = re.compile(r"kafka-[a-z-]+\.sh \{(observed\.)?tool\}")
"""`tool` has --command-config where the clients that it is about were served with TLS or SASL."""


@pytest.fixture(scope="module")
def advice() -> ModuleType:
    found = importlib.util.spec_from_file_location("advice_of_the_reference", SOURCE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(advice: ModuleType) -> list[str]:
    return [text for _, _, text in advice.incident_advice()] + [text for _, text in advice.rule_advice()]


def test_advice_costs_no_records_and_no_durability_without_saying_so(texts: list[str]) -> None:
    skips = [text for text in texts if "--to-latest" in text]
    assert len(skips) == 1
    assert all("the group never gets them" in text and "--reset-offsets --to-latest" not in text for text in skips)
    fewer = [text for text in texts if "min.insync.replicas lower" in text or "lower min.insync.replicas" in text]
    assert [text for text in fewer if not re.search(r"lost|lose|gone|one copy", text)] == []


def test_commands_reach_listeners_that_take_tls_or_sasl(texts: list[str]) -> None:
    commands = [command for text in texts for command in COMMAND.findall(text)]
    assert len(commands) > 5
    secured = (SECURED, "{SECURED}")  # as users read it, and as the source has it
    assert [c for c in commands if not WITH_TOOL.match(c) and not any(said in c for said in secured)] == []


def test_every_kind_of_incident_advises_somebody(advice: ModuleType) -> None:
    advised = {kind for kind, owner, _ in advice.incident_advice() if owner}
    assert {kind.name for kind in KINDS} - advised == set()
