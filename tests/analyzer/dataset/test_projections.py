"""Classes that read some columns of a story table: each field is a column, of the type that the table has. What
a query computes beside them has a sentence of its own."""

import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, get_origin, get_type_hints

import pyarrow as pa

import kafkascope_analyzer.cut
import kafkascope_analyzer.report
import kafkascope_spark.stories
from kafkascope_analyzer.dataset.row_types import Row, StoryRow, arrow_type, column_fields
from kafkascope_spark.stories.tables import STORY_TABLES


def projections(kind: type[Row] = Row) -> Iterator[type[Row]]:
    """All classes of imported modules that read a story table, but for those that declare one."""
    for each in kind.__subclasses__():
        is_kept = getattr(sys.modules.get(each.__module__), each.__name__, None) is each  # slots make a second class
        if is_kept and not issubclass(each, StoryRow) and getattr(each, "TABLE", None) in STORY_TABLES:
            yield each
        yield from projections(each)


def fits(field: pa.DataType, column: pa.DataType) -> bool:
    """Whether a field takes the values of a column. An integer takes those of any width; a struct may have fewer
    fields than that of the column."""
    if pa.types.is_list(column):
        return pa.types.is_list(field) and fits(field.value_type, column.value_type)
    if pa.types.is_struct(column):
        parts = {part.name: part.type for part in column}
        is_struct = pa.types.is_struct(field)
        return is_struct and all(part.name in parts and fits(part.type, parts[part.name]) for part in field)
    return field == column or (pa.types.is_integer(field) and pa.types.is_integer(column))


def test_the_fields_of_a_projection_are_columns_of_their_type() -> None:
    for package in (kafkascope_analyzer.cut, kafkascope_analyzer.report, kafkascope_spark.stories):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    found = set(projections())
    assert len(found) > 10
    for kind in found:
        hints = get_type_hints(kind, include_extras=True)
        for name in column_fields(kind):
            is_column = name in kind.TABLE.schema.names
            assert is_column or get_origin(hints[name]) is Annotated, (kind, name)
            if is_column and get_origin(hints[name]) is not dict:
                assert fits(arrow_type(hints[name]), kind.TABLE.column(name).type), (kind, name)
