"""Rows as dataclasses, compared with what pyarrow makes of the same values as dicts."""

import pickle
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.contract import TIMESTAMP
from kafkascope_analyzer.dataset.row_types import (
    I16,
    I32,
    NS,
    TIME,
    StoryRow,
    batch_of_rows,
    column_converters,
    declares,
)


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    size: Annotated[int | None, I16]
    tags: tuple[str, ...]


@declares("things", "thing", sorted_by=("begin_ns", "thing_id"), salted=("thing_id",))
@dataclass(frozen=True, slots=True)
class Thing(StoryRow):
    thing_id: Annotated[str, "the thing"]
    node_id: Annotated[int | None, I32, "its node"]
    kind: Annotated[Literal["large", "small"] | None, "which it is"]
    how: Annotated[str, ("seen", "told"), "how it is known"]
    begin_ns: Annotated[int | None, TIME, "when it began"]
    last_ns: Annotated[int, NS, "when it was last seen"]
    is_known: Annotated[bool, "whether it is known"]
    parts: Annotated[tuple[Part, ...] | None, "its parts"]
    seen_by: str = ""


ROWS = [
    Thing("a", 2, "large", "seen", 1_000, 2, True, (Part("x", None, ("p", "q")), Part("y", -3, ())), "me"),
    Thing("b", None, None, "told", None, 3, False, None),
    Thing("c", 3, "small", "told", 5, 4, False, ()),
]


def test_a_field_is_a_column() -> None:
    table = Thing.TABLE
    assert (table.name, table.row) == ("things", "thing")
    assert [(column.name, column.type) for column in table.columns] == [
        ("cluster", pa.string()),
        ("thing_id", pa.string()),
        ("node_id", pa.int32()),
        ("kind", pa.string()),
        ("how", pa.string()),
        ("begin_ts", TIMESTAMP),
        ("begin_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("is_known", pa.bool_()),
        ("parts", pa.list_(pa.struct([("name", pa.string()), ("size", pa.int16()), ("tags", pa.list_(pa.string()))]))),
    ]
    assert table.column("kind").values == ("large", "small")
    assert table.column("how").values == ("seen", "told")
    assert table.column("begin_ns").doc == "when it began (nanoseconds since the epoch)"
    assert table.column("last_ns").doc == "when it was last seen (nanoseconds since the epoch)"


@pytest.mark.parametrize("rows", [ROWS, ROWS[1:2], ROWS[2:], []])
def test_columns_are_those_that_pyarrow_makes_of_dicts(rows: list[Thing]) -> None:
    batch = batch_of_rows(Thing, rows)
    batch.validate(full=True)
    expected = [{name: asdict(row)[name] for name in batch.schema.names} for row in rows]
    assert batch == pa.RecordBatch.from_pylist(expected, batch.schema)


def test_a_reader_gets_the_row_that_was_written() -> None:
    batch = batch_of_rows(Thing, [ROWS[0], ROWS[2]])
    converters = column_converters(Thing)
    columns = (map(converters[name], batch.column(name).to_pylist()) for name in converters)
    assert [pickle.loads(pickle.dumps(row)) for row in map(Thing, *columns)] == [
        Thing(**{name: getattr(row, name) for name in converters}) for row in (ROWS[0], ROWS[2])
    ]


def test_pickle_keeps_what_is_no_column() -> None:
    assert pickle.loads(pickle.dumps(ROWS[0])).seen_by == "me"


def test_a_column_has_a_type_and_a_sentence() -> None:
    @dataclass(frozen=True)
    class Wrong(StoryRow):
        size: Annotated[complex, "its size"]

    @dataclass(frozen=True)
    class Silent(StoryRow):
        size: int

    for kind, said in ((Wrong, "no column has the type"), (Silent, "Silent.size has no sentence")):
        with pytest.raises(TypeError, match=said):
            declares("wrong", "wrong", sorted_by=())(kind)


def test_a_table_is_sorted_by_columns_that_it_has() -> None:
    @dataclass(frozen=True)
    class Sorted(StoryRow):
        size: Annotated[int, "its size"]

    for names in ({"sorted_by": ("weight",)}, {"sorted_by": ("size",), "salted": ("weight",)}):
        with pytest.raises(ValueError, match="no fields"):
            declares("sorted", "sorted", **names)(Sorted)
    assert declares("sorted", "sorted", sorted_by=("size",))(Sorted).TABLE.sorted_by == ("size",)
