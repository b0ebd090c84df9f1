"""DuckDB's names of the types of the contract's columns."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import TIMESTAMP

_NAMES = {
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
}


def duckdb_type(kind: pa.DataType) -> str:
    """Returns the type in DuckDB's SQL, as `STRUCT("topic" VARCHAR, "offsets" BIGINT[])`. It does not use DuckDB, which
    would open a database for that and take as long as writing ten tables. Raises KeyError for a type that no column of
    the contract has."""
    if pa.types.is_struct(kind):
        fields = (f'"{field.name}" {duckdb_type(field.type)}' for field in kind)
        return f"STRUCT({', '.join(fields)})"
    if pa.types.is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    return _NAMES[kind]
