"""`events`: the events of each connection, in order, as far as a story needs them. The only input of the state machines
on Spark.

Ingest reduces each connection to its events: facts about it as a whole (section 0), and events at a moment (section 1).
A row belongs to one kind and has that kind's struct; the structs of the other kinds are null.

A file has the events of one kind, `events/date=2026-11-21/kind=usage/part-0-RUN.parquet`, and only the structs that
events of the kind have. Columns that are the same in all events of a kind (FOLLOWS_FROM_KIND) are in no file; readers
add them.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import get_args

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import CLUSTER, Column, Table, i32, i64, required, sentences, text, time
from kafkascope_analyzer.dataset.event_kinds import EVENT_MODULES
from kafkascope_analyzer.dataset.tables.columns import CONN
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event, KeyKind


def _declared_in(module: str) -> Iterator[type[Event]]:
    """Yields the classes that a module declares, in their order there."""
    for each in vars(import_module(module)).values():
        if isinstance(each, type) and issubclass(each, Event) and each.__module__ == module and hasattr(each, "KIND"):
            yield each


EVENT_CLASSES: Mapping[str, type[Event]] = {
    each.KIND.name: each for module in EVENT_MODULES for each in _declared_in(module)
}
"""The class of each kind of events."""
KINDS: Mapping[str, pa.StructType] = {name: each.KIND.struct for name, each in EVENT_CLASSES.items()}
RANKS: Mapping[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}
"""Order of events of the same time: requests, then errors, then partitions, as the state machines need it."""

EVENT_KEYS: tuple[Column, ...] = (
    CLUSTER,
    *required(text("key_kind", "meaning of the key", *get_args(KeyKind))),
    *required(
        text(
            "key",
            "address of the client or server, group, transactional id or topic-partition whose story it belongs to",
        )
    ),
    text("client_ip", "address of the client of the connection"),
    *required(Column("section", pa.int8(), "0 for a fact about the connection as a whole, 1 for a moment")),
    *required(*time("", "when it happened; for a fact about a whole connection, its first packet")),
    *required(Column("rank", pa.int8(), "order of events of the same time")),
    *required(i64("packet_no", "packet that shows it, 0 where there is none")),
    *required(CONN),
    *required(i32("seq", "order of the connection's rows that have the same time, rank and packet")),
    *required(text("kind", "kind of the event, and name of the struct that the row has", *KINDS)),
)
EVENTS = Table(
    "events",
    "fact about a connection, or event on it, that matters for a story",
    (*EVENT_KEYS, *(each.KIND.column for each in EVENT_CLASSES.values())),
)
FOLLOWS_FROM_KIND = ("key_kind", "section", "rank", "kind")
"""Columns whose values are the same in all events of a kind."""
KIND_FOLDER = "kind="
"""The prefix of the name of the folder with the files of a kind."""
ORDER_IN_FILE = ("key", "ts_ns", "packet_no", "conn_id", "seq")
"""The order of events in a file, which is of one cluster and kind."""
EVENT_ORDER = (CLUSTER.name, "key_kind", "key", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq")
"""The order in which the state machines read events."""
_RUNS_FIRST = {"error_run": ("request",)}
"""The structs that events of a kind may have besides their own: for an error_run, the first of several requests."""


@cache
def file_schema(kind: str) -> pa.Schema:
    """Returns the columns of a file of events of that kind, with descriptions; the last one is the struct
    of the kind."""
    keys = (column.name for column in EVENT_KEYS if column.name not in FOLLOWS_FROM_KIND)
    columns = [EVENTS.column(name) for name in (*keys, *_RUNS_FIRST.get(kind, ()), kind)]
    return pa.schema([column.field for column in columns], sentences(EVENTS.row, columns))


def is_of_this_version(path: str, schema: pa.Schema) -> bool:
    """Returns whether a file of events has the columns that this version writes for its kind; True for files of other
    tables. schema: the schema of the file."""
    kind = _kind_of(path)
    return kind is None or (kind in KINDS and schema.equals(file_schema(kind)))


def constants_in(path: str) -> Mapping[str, pa.Scalar]:
    """Returns the values of columns that follow from the folder of a file of a table, and that the file itself does not
    have."""
    kind = _kind_of(path)
    return {} if kind is None else _constants(kind)


def _kind_of(path: str) -> str | None:
    """Returns the kind of events of a file by its folder, or None if the file is of another table."""
    folder = next((name for name in path.split("/") if name.startswith(KIND_FOLDER)), None)
    return None if folder is None else folder.removeprefix(KIND_FOLDER)


@cache
def _constants(kind: str) -> Mapping[str, pa.Scalar]:
    about = EVENT_CLASSES[kind].KIND
    values = about.key_kind, about.section, RANKS[kind], kind
    types = (EVENTS.column(name).type for name in FOLLOWS_FROM_KIND)
    return dict(zip(FOLLOWS_FROM_KIND, map(pa.scalar, values, types), strict=True))
