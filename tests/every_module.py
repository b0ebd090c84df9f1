"""Which modules of a package no test imports: a test that imports a module says what it has to give, other tests reach
it through what uses it only."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path

TESTS = Path(__file__).parent


def modules_of(package: str) -> set[str]:
    """The modules of a package and of the packages in it, without the packages themselves."""
    folder = Path(str(resources.files(package)))
    files = (one for one in folder.rglob("*.py") if one.name != "__init__.py" and "node_modules" not in one.parts)
    return {".".join((package, *one.relative_to(folder).with_suffix("").parts)) for one in files}


@cache
def imported_from(package: str) -> set[str]:
    """The modules of a package, and names in them, that files under tests/ import."""
    texts = (one.read_text("utf-8") for one in TESTS.rglob("*.py"))
    return {name for text in texts if package in text for name in _imports(text)}


def _imports(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
