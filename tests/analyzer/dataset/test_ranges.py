"""Every number of every table has a range, the ranges leave room for arithmetic, and the fields of messages fit into
the columns that they fill.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.ranges import (
    APART_NS,
    EPOCH,
    LIFETIME_MS,
    OFFSET,
    PARTITION,
    TIME_MS,
    TIME_NS,
    TIMEOUT_MS,
    WAIT_MS,
    column_range,
    field_range,
)
from kafkascope_analyzer.dataset.tables import INGEST_TABLES, PARTITIONS, REQUESTS
from kafkascope_analyzer.scan import topology
from kafkascope_analyzer.scan.message_fields import partition_fields
from kafkascope_analyzer.scan.request_facts import REQUEST_INTS, RESPONSE_INTS, nodes_of
from kafkascope_analyzer.scan.value_ranges import checked_fields, range_of
from kafkascope_parsers.schema import MessageType, api_keys, message_type
from kafkascope_spark.stories.tables import STORY_TABLES

MOST = 2**63 - 1


def numbers(name: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """The integers in a column: itself, or the fields of its structs and the elements of its lists."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from numbers(field.name, field.type)
    elif pa.types.is_list(kind):
        yield from numbers(name, kind.value_type)
    elif pa.types.is_integer(kind):
        yield name, kind


@pytest.mark.parametrize("table", [*INGEST_TABLES, *STORY_TABLES], ids=lambda table: table.name)
def test_every_number_of_a_table_has_a_range_that_its_type_holds(table: Table) -> None:
    for column in table.columns:
        for name, kind in numbers(column.name, column.type):
            allowed = column_range(name, kind)
            limit = 2 ** (kind.bit_width - 1)
            assert -limit <= allowed.least <= 0 <= allowed.greatest < limit, name


def test_ranges_leave_room_for_the_arithmetic_that_is_done() -> None:
    assert TIME_MS.greatest * 1_000_000 <= MOST
    for duration in (WAIT_MS, TIMEOUT_MS, LIFETIME_MS):
        assert TIME_NS.greatest + duration.greatest * 1_000_000 <= MOST
    assert TIME_NS.greatest - TIME_NS.least <= APART_NS.greatest
    assert OFFSET.greatest * 1000 <= MOST
    assert PARTITION.least == 0
    assert EPOCH.least < 0


def messages() -> Iterator[MessageType]:
    for key in api_keys():
        yield message_type(key, "request")
        yield message_type(key, "response")


def test_fields_fit_into_the_columns_that_they_fill() -> None:
    filled = 0
    for message in messages():
        facts = REQUEST_INTS if message.direction == "request" else RESPONSE_INTS
        pairs = [(REQUESTS.column(fact.column), node) for fact in facts for node in nodes_of(message, fact.paths)]
        for place in partition_fields(message):
            pairs.append((PARTITIONS.column("partition"), place.partition))
            pairs += [(PARTITIONS.column(name), node) for name, nodes in place.fields.items() for node in nodes]
        for column, node in pairs:
            if pa.types.is_integer(column.type):
                allowed = column_range(column.name, column.type)
                own = range_of(node)
                if own is None:
                    assert "code or id" in allowed.what, (message.name, node.path, column.name)
                else:
                    assert allowed.least <= own.least, (message.name, node.path)
                    assert own.greatest <= allowed.greatest, (message.name, node.path)
                filled += 1
    assert filled > 300


def test_numbers_of_topology_have_ranges() -> None:
    for field in topology.SPILL_SCHEMA:
        if pa.types.is_integer(field.type) and field.name != "row":
            assert field_range(field.name) is not None


def test_fields_of_the_pages_of_an_answer_have_none() -> None:
    paths = {node.path for message in messages() for node, _ in checked_fields(message)}
    assert not [path for path in paths if "cursor" in path]
    assert "topics[].partitions[].partition_index" in paths


def test_outside_says_which() -> None:
    assert PARTITION.outside(np.array([0, 5], np.int32)) is None
    assert PARTITION.outside(np.array([], np.int32)) is None
    assert PARTITION.outside(np.array([0, -1], np.int32)).tolist() == [False, True]
    assert OFFSET.outside(np.array([2**53 + 1, -3, -2], np.int64)).tolist() == [True, True, False]
