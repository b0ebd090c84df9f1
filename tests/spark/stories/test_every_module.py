"""Each module of these rooms of the stories is imported by a test: by one that says what it has to give, not only by
what uses it."""

import pytest
from tests.every_module import imported_from, modules_of

PACKAGE = "kafkascope_spark.stories"
ROOMS = ("cadences", "clients", "flow", "libraries", "recoveries", "servers", "stalls", "startups")

DECLARATIONS = (".table", ".client_instance")
"""Modules that only declare columns: the tests of the contract look at all tables."""


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_has_a_test_that_imports_it(room: str) -> None:
    modules = {one for one in modules_of(f"{PACKAGE}.{room}") if not one.endswith(DECLARATIONS)}
    assert len(modules) > 1
    assert sorted(modules - imported_from(PACKAGE)) == []
