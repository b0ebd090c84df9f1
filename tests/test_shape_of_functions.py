"""Functions stay small: how many parameters and lines they have, and that no tuple or dict stands for a record."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "analyzer/kafkascope",
    "analyzer/kafkascope_analyzer",
    "parsers/kafkascope_parsers",
    "spark/kafkascope_spark",
)
MOST_PARAMETERS = 6
MOST_LINES = 60
LONG = {
    "parsers/kafkascope_parsers/machine/kernel.py": {
        "run": "the operations of the decoder share position, program counter and stack; a call for each costs more"
    }
}
"""Functions that may be longer, each with the reason."""
MOST_MEMBERS = 3
"""Members of a tuple that a parameter or result may have: more of them want names, as a dataclass or NamedTuple."""

TYPED_FOLDERS = ("analyzer/kafkascope_analyzer/report", "spark/kafkascope_spark/stories")
"""Where rows are objects of a class."""
UNTYPED = {
    "analyzer/kafkascope_analyzer/report/model/failed_sections.py sections": "sections of any type, by name",
    "analyzer/kafkascope_analyzer/report/plain.py arguments_of": "fields of any dataclass, by name",
    "analyzer/kafkascope_analyzer/report/sarif.py _location": "a part of a SARIF log, whose schema a test asks",
    "analyzer/kafkascope_analyzer/report/sarif.py _result": "the same",
    "analyzer/kafkascope_analyzer/report/sarif.py _run": "the same",
    "analyzer/kafkascope_analyzer/report/schema/shapes.py _typed": "a JSON schema",
    "analyzer/kafkascope_analyzer/report/schema/shapes.py shape_of": "a JSON schema",
    "spark/kafkascope_spark/stories/findings/rule.py __init__": "the columns that a rule's own query chooses",
}
"""Functions that take or return values of any type by name, each with what these are."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "node_modules" not in path.parts)


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def parameters(function: Function) -> list[ast.arg]:
    every = function.args
    listed = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    return [one for one in listed if one.arg not in ("self", "cls")]


def has_wide_tuple(annotation: ast.expr | None) -> bool:
    tuples = (
        part.slice
        for part in (ast.walk(annotation) if annotation is not None else ())
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == "tuple"
    )
    return any(isinstance(members, ast.Tuple) and len(members.elts) > MOST_MEMBERS for members in tuples)


def faults(path: Path) -> Iterator[str]:
    """What is wrong with the functions of a file."""
    name = path.relative_to(ROOT).as_posix()
    for function in functions(path):
        where = f"{name}:{function.lineno} {function.name}"
        n_parameters, n_lines = len(parameters(function)), (function.end_lineno or 0) - function.lineno + 1
        if n_parameters > MOST_PARAMETERS:
            yield f"{where}: {n_parameters} parameters"
        if n_lines > MOST_LINES and function.name not in LONG.get(name, {}):
            yield f"{where}: {n_lines} lines"
        if any(map(has_wide_tuple, [*(one.annotation for one in parameters(function)), function.returns])):
            yield f"{where}: a tuple of more than {MOST_MEMBERS} members"


QUOTED = re.compile(r"(dict|Mapping)\[\w+, (Any|object)\]")


def is_untyped(annotation: ast.expr | None, names: set[str]) -> bool:
    """Whether the annotation has a dict whose values may be anything, or one of these names for it."""
    for part in ast.walk(annotation) if annotation is not None else ():
        if isinstance(part, ast.Name) and part.id in names:
            return True
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Tuple):
            is_dict = ast.unparse(part.value).rpartition(".")[2] in ("dict", "Mapping", "MutableMapping")
            if is_dict and ast.unparse(part.slice.elts[-1]) in ("Any", "object"):
                return True
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and QUOTED.search(part.value):
            return True
    return False


def untyped_names(tree: ast.Module) -> set[str]:
    """The names that a module gives such types."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_untyped(node.value, names):
            names.add(node.targets[0].id)
    return names


def untyped_functions(source: str) -> list[str]:
    """The functions that take or return rows as dicts."""
    tree = ast.parse(source)
    names = untyped_names(tree)
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, Function)
        and any(is_untyped(each, names) for each in [*(one.annotation for one in parameters(node)), node.returns])
    ]


def test_no_row_is_a_dict() -> None:
    paths = [path for path in sources() if path.relative_to(ROOT).as_posix().startswith(TYPED_FOLDERS)]
    found = {
        f"{path.relative_to(ROOT).as_posix()} {name}"
        for path in paths
        for name in untyped_functions(path.read_text(encoding="utf-8"))
    }
    assert found <= UNTYPED.keys()


def test_a_row_that_is_a_dict_is_found() -> None:
    source = """
Row = dict[str, Any]
Rows = list[Row]
def by_name(row: Row) -> None: ...
def several() -> Rows: ...
def inside(rows: Iterator[Mapping[str, Any]]) -> None: ...
def quoted(row: "dict[str, Any] | None") -> None: ...
class Machine:
    def take(self, row: dict[str, object]) -> None: ...
def typed(counts: dict[str, int], of: Callable[[str], Any]) -> tuple[str, ...]: ...
"""
    assert untyped_functions(source) == ["by_name", "several", "inside", "quoted", "take"]


def test_functions_are_small() -> None:
    assert [fault for path in sources() for fault in faults(path)] == []


def test_the_long_functions_are_still_there() -> None:
    for name, allowed in LONG.items():
        lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions(ROOT / name)}
        assert all(lengths.get(function, 0) > MOST_LINES for function in allowed)
