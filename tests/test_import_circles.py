"""No module of our packages imports, directly or through others, what imports it.

Every import statement counts: one inside a function or under TYPE_CHECKING hides a circle and does not undo it. What
two modules of a circle share belongs into a third, or the lower one takes it as an argument.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "kafkascope": "analyzer",
    "kafkascope_parsers": "parsers",
    "kafkascope_analyzer": "analyzer",
    "kafkascope_spark": "spark",
}
Graph = Mapping[str, set[str]]
"""Module -> the modules that it imports."""


def modules() -> dict[str, str]:
    """The source of each module of the packages."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def imports(name: str, sources: Mapping[str, str]) -> Iterator[str]:
    """The modules among sources that a module imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(sources[name])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in sources)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from (each for each in (inner if inner in sources else node.module,) if each in sources)


def graph(sources: Mapping[str, str]) -> Graph:
    return {name: set(imports(name, sources)) - {name} for name in sources}


def circles(edges: Graph) -> list[list[str]]:
    """The modules that lead to each other, circle by circle: what is left without modules of which all importers, or
    all imports, are left out."""
    left = {name: set(found) for name, found in edges.items()}
    while True:
        imported = set().union(*left.values())
        ends = {name for name, found in left.items() if not found or name not in imported}
        if not ends:
            return _connected(left)
        left = {name: found - ends for name, found in left.items() if name not in ends}


def _connected(edges: Graph) -> list[list[str]]:
    found, seen = [], set()
    for name in sorted(edges):
        if name not in seen:
            circle = {other for other in _reached(name, edges) if name in _reached(other, edges)}
            seen |= circle
            found += [sorted(circle)] if len(circle) > 1 else []
    return found


def _reached(name: str, edges: Graph) -> set[str]:
    reached: set[str] = set()
    ahead = [name]
    while ahead:
        new = edges[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def test_no_module_imports_what_imports_it() -> None:
    edges = graph(modules())
    assert len(edges) > 600
    assert circles(edges) == []


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"a": "import b", "b": "import c", "c": ""}, []),
        ({"a": "import b", "b": "import a"}, [["a", "b"]]),
        (
            {"a": "import b", "b": "def f():\n    from c import x", "c": "if TYPE_CHECKING:\n    import a"},
            [list("abc")],
        ),
        (
            {"a": "import b", "b": "import c", "c": "import b", "d": "from e import f", "e": "import d"},
            [["b", "c"], ["d", "e"]],
        ),
        ({"p": "from p.m import f", "p.m": "from q import g", "q": "from p import f"}, [["p", "p.m", "q"]]),
        ({"p": "", "p.m": "from p import n", "p.n": "from p import m"}, [["p.m", "p.n"]]),
    ],
)
def test_a_circle_is_found_wherever_its_imports_stand(sources: dict[str, str], found: list[list[str]]) -> None:
    assert circles(graph(sources)) == found
