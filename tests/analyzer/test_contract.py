"""Closed lists of the contract against those of the parsers, which it may not import (they compile kernels)."""

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.tables import (
    CODECS,
    MESSAGE_KEYS,
    REQUEST_STATUSES,
    TCP_EVENT_KINDS,
    UNDECODED_REASONS,
)
from kafkascope_analyzer.sql.saved import views
from kafkascope_analyzer.sql.tables import TABLES
from kafkascope_parsers import records
from kafkascope_parsers.exchanges import STATUSES
from kafkascope_parsers.framing.layout import REASONS
from kafkascope_parsers.tcp.state import EVENT_KINDS


def test_tcp_events_are_named_as_tcp_names_them() -> None:
    assert TCP_EVENT_KINDS == EVENT_KINDS


def test_every_reason_of_framing_is_in_the_contract() -> None:
    assert set(REASONS) <= set(UNDECODED_REASONS)


def test_statuses_of_requests_are_those_of_exchanges() -> None:
    """The column `status` of exchanges is an index of both."""
    assert REQUEST_STATUSES == STATUSES


def test_codecs_are_those_of_record_batches() -> None:
    """The column `codec` of batches is an index of both."""
    assert CODECS == records.CODECS


def names_in(kind: pa.DataType) -> set[str]:
    """The names of all fields of a type."""
    if pa.types.is_list(kind):
        return names_in(kind.value_type)
    if not pa.types.is_struct(kind):
        return set()
    return {field.name for field in kind}.union(*(names_in(field.type) for field in kind))


def test_no_table_or_column_has_to_be_quoted() -> None:
    """DuckDB itself says which words are reserved: it does not parse them as names."""
    columns = [column for table in TABLES for column in table.columns] + [*MESSAGE_KEYS]
    names = {column.name for column in columns}.union(*(names_in(column.type) for column in columns))
    tables = [table.name for table in TABLES] + [view.name for view in views()]
    assert {"partition", "error_name", "api_name"} <= names
    database = duckdb.connect()
    for name in names:
        database.sql(f"select {name} from (select 1 as {name})").fetchall()
    for name in tables:
        database.sql(f"create view {name} as select 1")
