"""Events as the machines over clients take them: their fields are those of the struct of the kind, and of its types."""

import dataclasses
from typing import Any, get_type_hints

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.row_types import arrow_type
from kafkascope_analyzer.dataset.tables.events import KINDS, RANKS
from kafkascope_spark.stories.clients.events import CLIENT_EVENTS
from kafkascope_spark.stories.event_decoder import event_row

LISTS = {"times": int, "correlation_ids": int, "servers": str, "producer_ids": int}


@pytest.mark.parametrize("kind", CLIENT_EVENTS)
def test_each_field_has_the_value_and_the_type_of_its_name(kind: str) -> None:
    make = CLIENT_EVENTS[kind]
    struct = {name: f"the {name}" for name in KINDS[kind].names}
    key, event = event_row({"client_ip": "ip", "section": 1, "ts_ns": 5, "conn_id": "c1", kind: struct})
    assert key == ("ip", 1, 5, RANKS[kind])
    assert type(event) is make
    from_keys = {"conn_id": "c1"} | ({} if "ts_ns" in struct else {"ts_ns": 5})
    for field in dataclasses.fields(make):
        assert getattr(event, field.name) == (from_keys | struct)[field.name]
        if field.name in struct:
            assert _fits(get_type_hints(make)[field.name], field.name, KINDS[kind].field(field.name).type), field.name


def _fits(hint: Any, name: str, column: pa.DataType) -> bool:
    if name in LISTS:
        return bool(pa.types.is_list(column)) and _fits(LISTS[name], "", column.value_type)
    field = arrow_type(hint)
    return bool(field == column or (pa.types.is_integer(field) and pa.types.is_integer(column)))
