"""What the schema and the page's types make of dataclasses, of which each shows one rule."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.page_model.drawn.part import Part
from kafkascope_analyzer.report.plain import CLIPPED
from kafkascope_analyzer.report.schema.shapes import described, shape_of, summary_of
from kafkascope_analyzer.report.schema.typescript import _interface, _type, story_types

ENDS = ("good", "bad")


@dataclass(frozen=True)
class Inner:
    """An inner thing. More of it."""

    n: Annotated[int, "how many"]


@dataclass(frozen=True)
class Outer:
    """An outer thing."""

    from_: Annotated[str | None, "where from", ENDS]
    inner: Annotated[tuple[Inner, ...], "what is in it", CLIPPED]
    counts: Annotated[dict[str, int], "counted */ by name"]


@dataclass(frozen=True, slots=True)
class Named(Row):
    """A row."""

    TABLE: ClassVar[Table] = CONNECTIONS
    close_kind: str | None


@dataclass(frozen=True, slots=True)
class PageNamed(Part):
    """A part of it."""

    SOURCE: ClassVar[type] = Named
    close_kind: str | None


def test_the_shape_of_a_class_has_all_of_its_keys_and_no_other() -> None:
    shape = shape_of(Outer)
    assert (shape["description"], shape["additionalProperties"]) == ("an outer thing", False)
    assert shape["required"] == ["from", "n_inner", "inner", "counts"]
    keys = shape["properties"]
    assert isinstance(keys, dict)
    assert keys["from"] == {"description": "where from", "type": ["string", "null"], "enum": ["good", "bad", None]}
    assert keys["inner"]["items"]["properties"]["n"] == {"description": "how many", "type": "integer"}
    assert keys["counts"]["additionalProperties"] == {"type": "integer"}
    assert summary_of(Inner) == "an inner thing"


def test_a_type_without_a_shape_is_an_error() -> None:
    @dataclass
    class Wrong:
        """Wrong."""

        at: complex

    with pytest.raises(TypeError, match="has no shape"):
        shape_of(Wrong)


def test_a_column_brings_its_sentence_also_to_a_part_of_the_row() -> None:
    column = CONNECTIONS.column("close_kind")
    assert described(Named, "close_kind", str | None)[1:] == (column.doc, column.values)
    assert described(PageNamed, "close_kind", str | None) == (str | None, column.doc, column.values)


def test_declarations_have_the_sentences_and_the_closed_lists() -> None:
    assert _interface("Outer", Outer).splitlines() == [
        "/** an outer thing */",
        "export interface Outer {",
        "  /** where from */",
        '  from: "good" | "bad" | null;',
        "  /** what is in it */",
        "  inner: Inner[];",
        "  /** counted * / by name */",
        "  counts: Record<string, number>;",
        "}",
    ]
    assert _type(tuple[int | None, ...]) == "(number | null)[]"
    assert _type(PageNamed) == "Named"


def test_every_type_that_the_page_names_is_declared_once() -> None:
    text = story_types()
    declared = [line.split()[2] for line in text.splitlines() if line.startswith("export interface ")]
    assert len(declared) == len(set(declared)) > 50
    assert "export interface LaneConnection {" in text
