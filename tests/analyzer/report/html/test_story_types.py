"""A page has what its script draws and nothing else, in the types that the script was checked with."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from kafkascope_analyzer.report.html.embedded_data import _PROSE
from kafkascope_analyzer.report.model.compare import Comparison
from kafkascope_analyzer.report.page_model.drawn import capture, clients, cluster, groups, happened, load
from kafkascope_analyzer.report.page_model.drawn.part import Part, part_of, parts_of
from kafkascope_analyzer.report.page_model.story import Story
from kafkascope_analyzer.report.plain import keys_of

SCRIPT = Path(str(resources.files("kafkascope_analyzer.report.html"))) / "script"
LAYERS = ("facts", "layout", "drawing")
MODULES = [SCRIPT / "start.ts", *(one for layer in LAYERS for one in (SCRIPT / layer).glob("*.ts"))]
TEXT = "\n".join(one.read_text("utf-8") for one in MODULES if one.name != "story.d.ts")


def dataclasses_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
        for inner in get_type_hints(hint).values():
            yield from dataclasses_in(inner)
    for inner in get_args(hint):
        yield from dataclasses_in(inner)


KINDS = sorted({*dataclasses_in(Story), *dataclasses_in(Comparison)}, key=lambda kind: kind.__name__)


def fits(whole: Any, part: Any) -> bool:
    """Whether a value of the type `whole` may stand for one of the type `part`, where a Part is its source."""
    if get_origin(whole) in (Union, UnionType):
        return all(fits(one, part) for one in get_args(whole))
    if get_origin(part) in (Union, UnionType):
        return any(fits(whole, one) for one in get_args(part))
    if get_origin(whole) is Literal:
        return part is str
    if get_args(part):
        pairs = zip(get_args(whole), get_args(part), strict=get_origin(whole) is get_origin(part))
        return get_origin(whole) is get_origin(part) and all(one is other or fits(one, other) for one, other in pairs)
    return bool(whole is part or whole is getattr(part, "SOURCE", None))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_script_uses_every_field_of_the_page(kind: type) -> None:
    keys = [key for _, key, _ in keys_of(kind)]
    assert [key for key in keys if not re.search(rf"(\.|[{{,]\s*){key}\b", TEXT)] == []


@pytest.mark.parametrize("kind", [k for k in KINDS if hasattr(k, "SOURCE")], ids=lambda kind: kind.__name__)
def test_a_part_has_fields_of_its_source_in_their_types(kind: Any) -> None:
    part, whole = get_type_hints(kind), get_type_hints(kind.SOURCE)
    names = [field.name for field in fields(kind)]
    assert set(names) <= whole.keys()
    assert [name for name in names if not fits(whole[name], part[name])] == []


@pytest.mark.parametrize("module", [capture, clients, cluster, groups, happened, load], ids=lambda one: one.__name__)
def test_every_part_is_in_the_page(module: Any) -> None:
    declared = {kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__}
    assert declared
    assert declared <= set(KINDS)


def test_prose_is_the_name_of_a_field_of_the_page() -> None:
    assert set(_PROSE) <= {key for kind in KINDS for _, key, _ in keys_of(kind)}
    assert len(set(_PROSE)) == len(_PROSE)


@dataclass(frozen=True)
class Inner:
    a: int
    b: int


@dataclass(frozen=True)
class Outer:
    one: Inner | None
    many: tuple[Inner, ...]
    names: tuple[str, ...]
    left_out: object


@dataclass(frozen=True, slots=True)
class InnerPart(Part):
    SOURCE: ClassVar[type] = Inner
    a: int


@dataclass(frozen=True, slots=True)
class OuterPart(Part):
    SOURCE: ClassVar[type] = Outer
    one: InnerPart | None
    many: tuple[InnerPart, ...]
    names: tuple[str, ...]


def test_a_part_holds_parts() -> None:
    whole = Outer(Inner(1, 2), (Inner(3, 4), Inner(5, 6)), ("x",), object())
    assert part_of(OuterPart, whole) == OuterPart(InnerPart(1), (InnerPart(3), InnerPart(5)), ("x",))
    assert parts_of(OuterPart, [Outer(None, (), (), 0)]) == (OuterPart(None, (), ()),)
