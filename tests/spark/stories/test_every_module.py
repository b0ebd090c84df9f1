"""Each module of the stories is imported by a test: by one that says what it has to give, not only by what uses it."""

import pytest
from tests.every_module import imported_from, modules_of

from kafkascope_spark.stories.findings import rules
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.incidents import kinds
from kafkascope_spark.stories.incidents.kind_names import INCIDENT_KINDS

PACKAGE = "kafkascope_spark.stories"
MODULES = sorted(modules_of(PACKAGE))
PLUG_INS = {f"{kinds.__name__}.{name}" for name in INCIDENT_KINDS} | {f"{rules.__name__}.{rule.name}" for rule in RULES}
"""Modules of one kind of incident or one rule of findings. Registries load them by name, and the tests of all kinds
(incidents/test_kinds.py) and of all rules (findings/test_rules.py, findings/test_recorded.py) go through the
registries."""
DECLARATIONS = {f"{PACKAGE}.clients.client_instance"}
"""The description of a column that several tables share: the tests of the contract look at all tables."""


def room_of(module: str) -> str:
    """The room of a module; the module itself where it is in none."""
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]


@pytest.mark.parametrize("room", sorted(set(map(room_of, MODULES))))
def test_each_module_has_a_test_that_imports_it(room: str) -> None:
    modules = {one for one in MODULES if room_of(one) == room} - PLUG_INS - DECLARATIONS
    assert sorted(modules - imported_from(PACKAGE)) == []


def test_plug_ins_and_declarations_are_modules() -> None:
    """A module that was renamed would be left out for nothing."""
    assert set(MODULES) > PLUG_INS | DECLARATIONS
