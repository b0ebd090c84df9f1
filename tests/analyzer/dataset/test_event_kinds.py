"""Kinds of events: declared by a class each, made by a source each."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_type_hints

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import I32, without_null
from kafkascope_analyzer.dataset.tables.connections import CONNECTIONS
from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, ClientEvent, Event, event_kind
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, EVENTS
from kafkascope_analyzer.resolve.bucket_events import SOURCES

FIXTURES = Path(__file__).parents[3] / "fixtures"


def test_a_class_has_a_struct_of_its_fields_in_its_order() -> None:
    @event_kind("opened", "an open connection", key_kind="client", section=WHOLE)
    @dataclass(slots=True)
    class Opened(ClientEvent):
        server_ip: Annotated[str, CONNECTIONS]
        ts_ns: Annotated[int, "when"]
        tries: Annotated[int | None, I32, "how often it was tried"]
        seen_by: str = ""

    assert Opened.KIND.names == ("server_ip", "ts_ns", "tries")
    assert str(Opened.KIND.struct) == "struct<server_ip: string, ts_ns: int64, tries: int32>"
    docs = [field.doc for field in Opened.KIND.fields]
    assert docs == ["address of the server", "when", "how often it was tried"]
    assert (Opened.KIND.key_kind, Opened.KIND.section) == ("client", WHOLE)
    opened = Opened.of({"server_ip": "10.0.0.1", "ts_ns": 5})
    assert (opened.server_ip, opened.ts_ns, opened.tries, opened.conn_id) == ("10.0.0.1", 5, None, "")


def test_a_field_needs_a_sentence_and_the_type_of_the_column_that_it_names() -> None:
    @dataclass(slots=True)
    class Silent(Event):
        server_ip: str

    @dataclass(slots=True)
    class Wrong(Event):
        server_ip: Annotated[int, CONNECTIONS]

    @dataclass(slots=True)
    class Unknown(Event):
        server_name: Annotated[str, CONNECTIONS]

    declare = event_kind("odd", "an odd event", key_kind="client")
    with pytest.raises(TypeError, match=r"Silent\.server_ip has no sentence"):
        declare(Silent)
    with pytest.raises(TypeError, match="server_ip is string in the table connections"):
        declare(Wrong)
    with pytest.raises(KeyError, match="server_name"):
        declare(Unknown)


def test_each_kind_has_one_source() -> None:
    """Look-ups are made of the table dns, before the bucket's connections are read."""
    made = Counter(kind for source in SOURCES for kind in source.KINDS)
    assert made == Counter(each for each in EVENT_CLASSES.values() if each is not Lookup)


def test_kinds_have_names_and_columns_of_their_own() -> None:
    assert [column.name for column in EVENTS.columns[-len(EVENT_CLASSES) :]] == list(EVENT_CLASSES)
    assert len(set(EVENT_CLASSES.values())) == len(EVENT_CLASSES)
    assert all(issubclass(each, ClientEvent) == (each.KIND.key_kind == "client") for each in EVENT_CLASSES.values())


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["captures/leader_move", "captures/txn", "service/frozen_broker"])
def test_only_fields_that_may_be_null_are(capture: str, ingested: Callable[[Path], Path]) -> None:
    """A number, text or truth value without None in its type is never null; a list or struct may be."""
    found = Dataset.open(ingested(FIXTURES / f"{capture}.pcap.zst"))
    nulls = set()
    for name, each in EVENT_CLASSES.items():
        hints = get_type_hints(each)
        table = found.read("events", [name])[name].combine_chunks().drop_null()
        for field in each.KIND.fields:
            hint, may_be_null = without_null(hints[field.name])
            if not may_be_null and hint in (int, str, bool) and table.field(field.name).null_count:
                nulls.add(f"{name}.{field.name}")
    assert nulls == set()
