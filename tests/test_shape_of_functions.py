"""Functions stay small: how many parameters and lines they have, and that no tuple stands for a record."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("analyzer/kafkascope_analyzer", "parsers/kafkascope_parsers", "spark/kafkascope_spark")
COMMANDS = "analyzer/kafkascope_analyzer/cli/"
"""A command has a parameter for each of its options, and its help stands beside each."""
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

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "node_modules" not in path.parts)


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def is_command(name: str, function: Function) -> bool:
    """Whether it is the function of a command: `kafkascope cut` is `cut`, in cut.py or cut_command.py."""
    return name.startswith(COMMANDS) and Path(name).stem.removesuffix("_command") == function.name


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
        if is_command(name, function):
            continue
        where = f"{name}:{function.lineno} {function.name}"
        n_parameters, n_lines = len(parameters(function)), (function.end_lineno or 0) - function.lineno + 1
        if n_parameters > MOST_PARAMETERS:
            yield f"{where}: {n_parameters} parameters"
        if n_lines > MOST_LINES and function.name not in LONG.get(name, {}):
            yield f"{where}: {n_lines} lines"
        if any(map(has_wide_tuple, [*(one.annotation for one in parameters(function)), function.returns])):
            yield f"{where}: a tuple of more than {MOST_MEMBERS} members"


def test_functions_are_small() -> None:
    assert [fault for path in sources() for fault in faults(path)] == []


def test_the_long_functions_are_still_there() -> None:
    for name, allowed in LONG.items():
        lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions(ROOT / name)}
        assert all(lengths.get(function, 0) > MOST_LINES for function in allowed)
