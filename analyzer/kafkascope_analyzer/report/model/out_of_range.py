"""Fields of messages with values outside of their valid range, which were read as null."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.tables import OUT_OF_RANGE
from kafkascope_analyzer.report.formatting import count, safe
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_FIELDS = 6
"""Most fields that are named, in a sentence each."""


@dataclass(frozen=True, slots=True)
class FieldOutOfRange:
    """A field of a message with values outside of its valid range."""

    api_name: Annotated[str | None, "API of the message"]
    direction: Annotated[str | None, "request or response", OUT_OF_RANGE.column("direction").values]
    field: Annotated[str, "path of the field in the message"]
    kind: Annotated[str, "kind of the field"]
    allowed: Annotated[str, "smallest and greatest valid value"]
    n: Annotated[int, "number of values outside of that range"]
    least: Annotated[str, "smallest of these values"]
    greatest: Annotated[str, "greatest of these values"]
    request_id: Annotated[str | None, "the first request with such a value in it or its response"]


_FIELDS = """
select api_name, direction, field, kind, allowed, sum(n)::bigint as n,
    min(least::hugeint)::varchar as least, max(greatest::hugeint)::varchar as greatest,
    arg_min(request_id, (ts_ns, request_id)) as request_id
from out_of_range group by api_name, direction, field, kind, allowed order by n desc, api_name, direction, field
"""


def fields_out_of_range(database: Database) -> tuple[FieldOutOfRange, ...]:
    """Returns the fields, those with the most such values first."""
    return tuple(select(database, _FIELDS, FieldOutOfRange))


def out_of_range_sentences(fields: tuple[FieldOutOfRange, ...]) -> list[str]:
    """Returns sentences about the fields."""
    sentences = [_sentence(field) for field in fields[:MOST_FIELDS]]
    if len(fields) > MOST_FIELDS:
        sentences.append(f"{count(len(fields) - MOST_FIELDS, 'more field')} with such values: table out_of_range")
    return sentences


def _sentence(field: FieldOutOfRange) -> str:
    where = f"{safe(field.api_name or '?')} {safe(field.direction)} {safe(field.field)}"
    values = field.least if field.least == field.greatest else f"{field.least} to {field.greatest}"
    return f"{where}: {count(field.n, 'value')} that no {safe(field.kind)} has, taken as null: {values}"
