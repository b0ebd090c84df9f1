"""Replaces the names in the columns of a table, including those in lists and structs.

Each text goes through `_texts`, and all bytes through `_bytes`: records, tokens and other contents of messages are
dropped, except the topics that members of a group name.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.redact.assignments import renamed_assignment, renamed_subscription
from kafkascope_analyzer.redact.kept_texts import (
    DAYS,
    DROPPED,
    FREE_TEXTS,
    KEPT_COLUMNS,
    KEPT_FIELDS,
    KNOWN_REASONS,
    NAMES,
    REASONS,
    REDACTED,
    SENTENCES,
    is_kept,
    is_word,
)
from kafkascope_analyzer.redact.pseudonyms import Pseudonyms

_ADDRESS_END = "_ip"
_DAY_NS = 86_400 * 10**9
_GROUP_BYTES: dict[str, Callable[[bytes, Callable[[str], str]], bytes]] = {
    "metadata": renamed_subscription,
    "assignment": renamed_assignment,
}
"""Fields of `events` that hold bytes of a group's members."""


@dataclass(frozen=True, slots=True)
class RedactedColumns:
    """Redacts the rows of one table. closed: its columns of enumerated values; is_event: whether it is `events`."""

    table: str
    pseudonyms: Pseudonyms
    closed: frozenset[str] = frozenset()
    is_event: bool = False

    def rows(self, rows: pa.Table) -> pa.Table:
        """Returns the rows with pseudonyms, in the same schema."""
        columns = []
        for field in rows.schema:
            is_kept_column = field.name in self.closed or f"{self.table}.{field.name}" in KEPT_COLUMNS
            chunks = rows[field.name].chunks
            made = chunks if is_kept_column else [self._array(chunk, field.name) for chunk in chunks]
            columns.append(pa.chunked_array(made, field.type))
        return pa.table(columns, rows.schema)

    def _array(self, array: pa.Array, field: str) -> pa.Array:
        """Returns the redacted values of a column or a field, including nested ones."""
        kind = array.type
        if pa.types.is_dictionary(kind):
            return self._array(array.dictionary_decode(), field).dictionary_encode().cast(kind)
        if pa.types.is_struct(kind):
            children = [self._array(child, part.name) for child, part in zip(array.flatten(), kind, strict=True)]
            return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
        if pa.types.is_list(kind):
            values = self._array(array.flatten(), field)
            lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
            ends = pa.array([0, *lengths.cumsum().tolist()], pa.int32())
            return pa.ListArray.from_arrays(ends, values, type=kind, mask=array.is_null())
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._texts(array, field)
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return self._bytes(array, field)
        if DAYS.fullmatch(field):
            return _days(array)
        if pa.types.is_nested(kind):
            raise TypeError(f"{self.table}.{field}: columns of type {kind} cannot be redacted")
        return array

    def _texts(self, array: pa.Array, field: str) -> pa.Array:
        coded = array.dictionary_encode()
        values = [self._text(text, field) for text in coded.dictionary.to_pylist()]
        return pa.array(values, array.type).take(coded.indices)

    def _text(self, text: str, field: str) -> str | None:
        if field in DROPPED:
            return None
        if field in FREE_TEXTS:
            return REDACTED if text else text
        if field in SENTENCES:
            return " ".join(self._token(token) for token in text.split(" "))
        if field in REASONS:
            return self._reason(text)
        if is_kept(field, text) or (self.is_event and field in KEPT_FIELDS):
            return text
        return self.pseudonyms.of(text, is_name=field in NAMES or field.endswith(_ADDRESS_END))

    def _token(self, token: str) -> str:
        """Returns a redacted part of a sentence: a word stays, unless it is a name."""
        bare = token.rstrip(",;:.")
        if is_word(bare) and not self.pseudonyms.is_known(bare):
            return token
        return self.pseudonyms.of(bare) + token[len(bare) :]

    def _reason(self, text: str) -> str:
        """Returns a client's redacted reason for joining or leaving: a text of Kafka's own clients stays; after a colon
        comes a member id."""
        head, colon, rest = text.partition(": ")
        if not text:
            return text
        return f"{head}{colon}{self.pseudonyms.of(rest)}" if head in KNOWN_REASONS else REDACTED

    def _bytes(self, array: pa.Array, field: str) -> pa.Array:
        renamed = _GROUP_BYTES.get(field) if self.is_event else None
        if renamed is None:
            return pa.nulls(len(array), array.type)
        values = [None if raw is None else renamed(raw, self.pseudonyms.of) for raw in array.to_pylist()]
        return pa.array(values, array.type)


def _days(times: pa.Array) -> pa.Array:
    """Returns the beginning of the day of each time, in nanoseconds or as a timestamp."""
    if pa.types.is_timestamp(times.type):
        return pc.floor_temporal(times, unit="day")
    return pc.multiply(pc.divide(times, _DAY_NS), _DAY_NS)
