"""The page's script has three layers, facts, layout and drawing: each imports only itself and those before it, no
module reaches itself through its imports, and facts and layout know no browser.
"""

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from pathlib import Path, PurePosixPath

import pytest

SCRIPT = Path(str(resources.files("kafkascope_analyzer.report.html"))) / "script"
LAYERS = ("facts", "layout", "drawing", "")
"""From the lowest to the highest; start.ts stands above all of them."""
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*"(\.[^"]+)\"""")
BROWSER = re.compile(
    r"(?<![.\w])(document|window|navigator|location|history|matchMedia|getComputedStyle|HTML\w*Element|Canvas\w+)\b"
)

Modules = Mapping[str, str]
"""Path below script/ -> text."""


def modules() -> Modules:
    found = [SCRIPT / "start.ts", *(one for layer in LAYERS[:-1] for one in (SCRIPT / layer).glob("*.ts"))]
    return {one.relative_to(SCRIPT).as_posix(): one.read_text("utf-8") for one in found}


def imports(texts: Modules) -> dict[str, set[str]]:
    """What each module imports, types too. Raises AssertionError for a module that is not there."""
    found = {}
    for name, text in texts.items():
        parts = [_joined(PurePosixPath(name).parent, target) for target in IMPORT.findall(text)]
        assert set(parts) <= texts.keys(), f"{name} imports what is not in the script: {set(parts) - texts.keys()}"
        found[name] = set(parts)
    return found


def _joined(folder: PurePosixPath, target: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(target).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def upward(texts: Modules) -> list[str]:
    def height(name: str) -> int:
        return LAYERS.index(PurePosixPath(name).parent.as_posix().removeprefix("."))

    pairs = ((name, other) for name, others in imports(texts).items() for other in others)
    return sorted(f"{name} -> {other}" for name, other in pairs if height(other) > height(name))


def circle(texts: Modules) -> list[str]:
    try:
        TopologicalSorter(imports(texts)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_go_down_the_layers() -> None:
    assert len(modules()) > 50
    assert upward(modules()) == []


def test_no_module_reaches_itself() -> None:
    assert circle(modules()) == []


@pytest.mark.parametrize("name", sorted(name for name in modules() if name.startswith(("facts/", "layout/"))))
def test_facts_and_layout_know_no_browser(name: str) -> None:
    code = re.sub(r"//.*", "", modules()[name])
    assert BROWSER.findall(code) == []


def test_a_circle_and_an_upward_import_are_noticed() -> None:
    texts = {
        "facts/a.ts": 'import { b } from "../layout/b.ts";\n',
        "layout/b.ts": 'import {\n  a,\n} from "../facts/a.ts";\n',
    }
    assert upward(texts) == ["facts/a.ts -> layout/b.ts"]
    assert set(circle(texts)) == {"facts/a.ts", "layout/b.ts"}
    assert BROWSER.findall("const x = document.body; TIMELINE.window") == ["document"]
