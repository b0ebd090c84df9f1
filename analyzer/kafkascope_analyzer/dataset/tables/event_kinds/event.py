"""Kinds of events as classes: the dataclass of a kind is its only declaration.

    @event_kind("lookup", "a DNS question and its answer", key_kind="client", section=WHOLE)
    @dataclass(slots=True)
    class Lookup(ClientEvent):
        name: Annotated[str, DNS]
        ...

From it follow the struct of the kind in the table `events`, the text of the reference page, the rows that a source of
ingest makes, and the objects that the stories read. Fields and their types are declared as those of other rows
(dataset.row_types): a field without a default is a field of the struct, and says in a sentence what it is, or names the
table whose column of the same name it is. Sources leave null only fields whose type has None.

The modules with kinds are listed in dataset.event_kinds.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column
from kafkascope_analyzer.dataset.row_types import column_converters, declared_fields

KeyKind = Literal["client", "group", "transaction", "partition", "server", "flow"]
"""The meaning of the key of an event."""
WHOLE, MOMENT = 0, 1
"""Sections: facts about a connection as a whole come before events at a moment."""


@dataclass(frozen=True)
class EventKind:
    """A kind of events. section: WHOLE or MOMENT; fields: the fields of its struct, in order."""

    name: str
    sentence: str
    key_kind: KeyKind
    section: int
    fields: tuple[Column, ...]

    @cached_property
    def struct(self) -> pa.StructType:
        """The Arrow type of the column of `events` that has the name of the kind."""
        return pa.struct([(field.name, field.type) for field in self.fields])

    @property
    def column(self) -> Column:
        """The column of `events` with the struct."""
        return Column(self.name, self.struct, self.sentence, fields=self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in self.fields)


class Event:
    """An event of the kind KIND; subclasses are dataclasses with slots."""

    __slots__ = ()
    KIND: ClassVar[EventKind]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Returns an event from the values of its struct by name, as in pyarrow's to_pylist; missing ones are null."""
        return cls(**{name: convert(values.get(name)) for name, convert in column_converters(cls).items()})


@dataclass(slots=True, kw_only=True)
class ClientEvent(Event):
    """An event whose key is the address of a client, with its connection and its time: they are columns of `events`."""

    conn_id: str = ""
    ts_ns: int = 0


E = TypeVar("E", bound=Event)


def event_kind(name: str, sentence: str, *, key_kind: KeyKind, section: int = MOMENT) -> Callable[[type[E]], type[E]]:
    """Returns a decorator that sets KIND of a dataclass. sentence: description of an event of the kind. Raises
    TypeError for a field whose type no column has, or that has no description."""

    def declare(kind: type[E]) -> type[E]:
        kind.KIND = EventKind(name, sentence, key_kind, section, _fields(kind))
        return kind

    return declare


def _fields(kind: type[Event]) -> tuple[Column, ...]:
    """Returns the fields of the struct in the order in which the class names them; an inherited field that it names
    again, such as ts_ns, is at its own position."""
    named = [name for each in reversed(kind.__mro__) for name in inspect.get_annotations(each)]
    last = {name: place for place, name in enumerate(named)}
    return tuple(sorted(declared_fields(kind, needs_sentences=True), key=lambda field: last[field.name]))
