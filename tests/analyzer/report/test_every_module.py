"""Each module of the report is imported by a test: by one that says what it has to give, not only by what uses it."""

import ast
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

REPORT = Path(str(resources.files("kafkascope_analyzer.report")))
PACKAGE = "kafkascope_analyzer.report"
TESTS = Path(__file__).parents[2]


def modules() -> set[str]:
    found = (one for one in REPORT.rglob("*.py") if one.name != "__init__.py" and "node_modules" not in one.parts)
    return {".".join((PACKAGE, *one.relative_to(REPORT).with_suffix("").parts)) for one in found}


def imports(text: str) -> Iterator[str]:
    """Every module, or name in one, that a test imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_each_module_has_a_test_that_imports_it() -> None:
    texts = (one.read_text("utf-8") for one in TESTS.rglob("*.py"))
    imported = {name for text in texts if PACKAGE in text for name in imports(text)}
    assert len(modules()) > 100
    assert sorted(modules() - imported) == []
