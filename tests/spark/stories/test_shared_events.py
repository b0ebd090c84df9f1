"""Events that are objects for the machines over services, servers and topic-partitions: their fields are those of the
struct of their kind, whatever the order, and of its types."""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM
from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_analyzer.dataset.stories.broker_states import HostKind
from kafkascope_analyzer.dataset.tables.events import KINDS
from kafkascope_analyzer.dataset.tables.group_events import GROUP_REQUEST_BODY, GROUP_RESPONSE_BODY
from kafkascope_spark.stories.event_decoder import SHARED_EVENTS, shared_event
from kafkascope_spark.stories.groups.bodies import GroupRequestBody, GroupResponseBody


@pytest.mark.parametrize("kind", SHARED_EVENTS)
def test_each_field_has_the_value_of_its_name(kind: str) -> None:
    values = {field.name: None if pa.types.is_struct(field.type) else f"the {field.name}" for field in KINDS[kind]}
    event = shared_event(kind, tuple(values.values()))
    assert type(event) is SHARED_EVENTS[kind]
    fields = column_fields(SHARED_EVENTS[kind])
    assert {name: getattr(event, name) for name in fields} == {name: values[name] for name in fields}


@pytest.mark.parametrize("kind", SHARED_EVENTS)
def test_each_field_has_the_type_of_the_struct(kind: str) -> None:
    hints: dict[str, Any] = get_type_hints(SHARED_EVENTS[kind])
    for name in column_fields(SHARED_EVENTS[kind]):
        is_right = _CHECKS[_without_none(hints[name])]
        assert is_right(KINDS[kind].field(name).type), name


_CHECKS: dict[Any, Callable[[pa.DataType], bool]] = {
    str: pa.types.is_string,
    HostKind: pa.types.is_string,
    int: pa.types.is_integer,
    bool: pa.types.is_boolean,
    Sequence[Mapping[str, int]]: HISTOGRAM.equals,
    GroupRequestBody: GROUP_REQUEST_BODY.equals,
    GroupResponseBody: GROUP_RESPONSE_BODY.equals,
    Sequence[str]: pa.list_(pa.string()).equals,
    Sequence[int | None]: pa.list_(pa.int64()).equals,
}


def _without_none(hint: Any) -> Any:
    return next(part for part in get_args(hint) if part is not NoneType) if NoneType in get_args(hint) else hint
