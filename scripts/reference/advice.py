"""The page of all advice: what each kind of incident and each rule advises, from the texts in their modules."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.incidents import texts
from kafkascope_spark.stories.incidents.actions import OWNERS
from kafkascope_spark.stories.incidents.kinds import KINDS

_HEAD = """# Advice

What reports advise, for reading in one place. `{...}` stands for what the capture shows: names, values, addresses of
brokers. Settings are named as the client's library names them.

## Incidents

One action for each owner: who operates the brokers, who operates the network, who owns clients.
"""

_QUERY = re.compile(r"\s*(select\b|with \w+ as \()", re.IGNORECASE)
"""The beginning of a query, as opposed to advice."""


def advice_page() -> str:
    """The page."""
    return "\n".join([_HEAD, *_incidents(), "## Rules", "", *_rules()])


def incident_advice() -> Iterator[tuple[str, str, str]]:
    """(kind, owner, text) of each text that an incident's action is made of; the owner is empty where a function makes
    a part of one."""
    for kind in KINDS:
        module = import_module(f"kafkascope_spark.stories.incidents.kinds.{kind.name}")
        yield from ((kind.name, owner, text) for owner, text in _actions(module))
    for one in iter_modules(texts.__path__, f"{texts.__name__}."):
        if not one.name.endswith("_sentences"):
            module = import_module(one.name)
            yield from ((_subject(module), owner, text) for owner, text in _actions(module))


def rule_advice() -> Iterator[tuple[str, str]]:
    """(rule, text) of the advice of each rule, and of the functions that make it with the values of a finding."""
    for rule in RULES:
        module = import_module(f"kafkascope_spark.stories.findings.rules.{rule.name}")
        listed = [rule.advice, *(text for _, text in _functions(module) if text not in rule.advice)]
        yield from ((rule.name, text) for text in dict.fromkeys(listed))


def _subject(module: ModuleType) -> str:
    """What the texts of a module are about: the first sentence of its docstring, up to a colon."""
    return re.split(r"[:.](?:\s|$)", " ".join((module.__doc__ or "").split()), maxsplit=1)[0].replace("`", "")


def _incidents() -> Iterator[str]:
    last = ""
    for name, owner, text in incident_advice():
        if name != last:
            yield from ("", f"### {name}", "")
        last = name
        yield f"- {f'**{owner}**: ' if owner else ''}{_plain(text)}"
    yield ""


def _rules() -> Iterator[str]:
    last = ""
    for name, text in rule_advice():
        if name != last:
            yield from ("", f"### {name}", "")
        last = name
        yield f"- {_plain(text)}"


def _plain(text: str) -> str:
    """A text in which Markdown finds no markup."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _actions(module: ModuleType) -> Iterator[tuple[str, str]]:
    """(owner, text) of each call that makes an action, then the texts of functions that return a part of one."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OWNERS:
            text = _template(node.args[0])
            if text:
                yield node.func.id, text
    yield from _functions(module)


def _functions(module: ModuleType) -> Iterator[tuple[str, str]]:
    """("", text) of each sentence that a function of the module returns, but for those about what happened, and no
    queries."""
    for function in ast.parse(inspect.getsource(module)).body:
        if isinstance(function, ast.FunctionDef) and "sentence" not in function.name:
            for node in ast.walk(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                    text = _template(node.value)
                    if len(text.split()) >= 4 and not _QUERY.match(text):
                        yield "", text


def _template(node: ast.expr) -> str:
    """A text as its source has it, with `{...}` for its values; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _template(part) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"  # type: ignore[attr-defined]
            for part in node.values
        )
    if isinstance(node, ast.IfExp):
        return _template(node.body) or _template(node.orelse)
    return ""
