"""Each module of these rooms of the stories is imported by a test: by one that says what it has to give, not only by
what uses it."""

import ast
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

PACKAGE = "kafkascope_spark.stories"
STORIES = Path(str(resources.files(PACKAGE)))
TESTS = Path(__file__).parents[2]
ROOMS = ("cadences", "clients", "flow", "libraries", "recoveries", "servers", "stalls", "startups")

DECLARATIONS = ("table", "client_instance")
"""Modules that only declare columns: the tests of the contract look at all tables."""


def modules(room: str) -> set[str]:
    found = (one for one in (STORIES / room).rglob("*.py") if one.stem not in ("__init__", *DECLARATIONS))
    return {".".join((PACKAGE, *one.relative_to(STORIES).with_suffix("").parts)) for one in found}


def imports(text: str) -> Iterator[str]:
    """Every module, or name in one, that a test imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.fixture(scope="module")
def imported() -> set[str]:
    texts = (one.read_text("utf-8") for one in TESTS.rglob("*.py"))
    return {name for text in texts if PACKAGE in text for name in imports(text)}


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_has_a_test_that_imports_it(room: str, imported: set[str]) -> None:
    assert len(modules(room)) > 1
    assert sorted(modules(room) - imported) == []
