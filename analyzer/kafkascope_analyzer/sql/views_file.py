"""Writes `views.sql`, beside the tables of a dataset: DuckDB reads it and has the tables and views of `kafkascope sql`.

Its tables are the files that the manifest lists when the script is run, so that files of an unfinished run do not
count.
"""

from collections.abc import Mapping

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, MESSAGES, VIEWS_FILE
from kafkascope_analyzer.dataset.tables.events import EVENTS, FOLLOWS_FROM_KIND, KIND_FOLDER, constants_in, file_schema
from kafkascope_analyzer.sql.duckdb_types import duckdb_type
from kafkascope_analyzer.sql.saved import SavedSql, macros
from kafkascope_analyzer.sql.tables import TABLES, available, message_view

_HEAD = f"""\
-- The tables of this dataset, and views over them, for DuckDB 1.2 or newer, in the dataset's folder:
--     duckdb -init {VIEWS_FILE}
-- Elsewhere say before that where the dataset is: set variable dataset = 's3://captures/incident.kscope';
set TimeZone = 'UTC';
set variable dataset = coalesce(getvariable('dataset'), '.');
set variable dataset_files = (
    select map_from_entries([
        (entry.key, [getvariable('dataset') || '/' || file.path for file in entry.value])
        for entry in map_entries(files)
    ])
    from read_json(
        getvariable('dataset') || '/{MANIFEST}', columns = {{files: 'map(varchar, struct(path varchar)[])'}}
    )
);
create schema if not exists {MESSAGES};
"""
_TABLES: dict[str, Table] = {table.stored_as: table for table in TABLES}


def write_views(dataset: Dataset) -> None:
    """Writes views.sql beside the tables, whole or not at all. Raises UsageError, like Dataset.write_text."""
    dataset.write_beside(VIEWS_FILE, views_text(dataset).encode())


def views_text(dataset: Dataset) -> str:
    """Returns the script: a view for each table and message that has files, and the views of `kafkascope sql` over
    them, except those that read Kafka's API versions, libraries, or owners."""
    tables = [name for name in dataset.tables if dataset.files(name)]
    names = {_TABLES[stored].name for stored in tables if stored in _TABLES}
    messages = {message_view(stored) for stored in tables if stored not in _TABLES}
    saved = map(_of_saved, available(names, messages))
    return "\n".join([_HEAD, *(_of_table(dataset, name) for name in tables), *saved])


def _of_table(dataset: Dataset, stored: str) -> str:
    """Returns the view of a table's files."""
    table = _TABLES.get(stored)
    name = table.name if table is not None else f"{MESSAGES}.{message_view(stored)}"
    rows = f"read_parquet(getvariable('dataset_files')['{stored}'], union_by_name = true, hive_partitioning = false"
    kinds = {str(found["kind"]): found for path in dataset.files(stored) if (found := constants_in(path))}
    select = _of_events(rows, kinds) if kinds else f"from {rows})"
    comment = "" if table is None else _comment(name, f"One row per {table.row}.")
    return f"create or replace view {name} as\n{select};\n{comment}"


def _of_events(rows: str, kinds: Mapping[str, Mapping[str, pa.Scalar]]) -> str:
    """Returns the SELECT of events, whose files lack the columns that are constant for a kind and the structs of other
    kinds. kinds: the constant columns of each kind."""
    there = {name for kind in kinds for name in file_schema(kind).names}
    columns = [
        field.name
        if field.name in there or field.name in FOLLOWS_FROM_KIND
        else f"cast(null as {duckdb_type(field.type)}) as {field.name}"
        for field in EVENTS.schema
    ]
    values = (", ".join(_literal(found[name]) for name in FOLLOWS_FROM_KIND) for found in kinds.values())
    return (
        f"select {', '.join(columns)}\nfrom {rows}, filename = true)\n"
        f"join (values {', '.join(f'({row})' for row in values)}) as kinds({', '.join(FOLLOWS_FROM_KIND)})\n"
        f"on kind = regexp_extract(filename, '/{KIND_FOLDER}(\\w+)/', 1)"
    )


def _literal(value: pa.Scalar) -> str:
    plain = value.as_py()
    return f"'{plain}'" if isinstance(plain, str) else str(plain)


def _of_saved(saved: SavedSql) -> str:
    comment = "" if saved in macros() else _comment(saved.name, saved.description)
    return f"create or replace {saved.definition.rstrip()};\n{comment}"


def _comment(name: str, sentence: str) -> str:
    text = sentence.replace("'", "''")
    return f"comment on view {name} is '{text}';\n"
