"""Writes Iceberg tables of a catalog (extra `iceberg`): one from pyiceberg's configuration, or that of a folder, which
then has a catalog of its own in SQLite.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.transforms import IdentityTransform

from kafkascope_analyzer.export.lake import PARTITIONS, SOURCE, SOURCES, LakeTable, quoted_list
from kafkascope_parsers.errors import UsageError

NAMESPACE = "kafkascope"
"""The namespace of the tables in a folder."""
CATALOG_FILE = "catalog.sqlite"


class IcebergLake:
    """The tables of a namespace. place: a folder, or CATALOG.NAMESPACE with a catalog of pyiceberg's configuration. A
    `Lake`."""

    def __init__(self, place: str) -> None:
        self._place = place
        try:
            self._catalog, self._namespace = _catalog(place)
            self._catalog.create_namespace_if_not_exists(self._namespace)
        except Exception as error:  # a catalog is a plug-in of pyiceberg, which may raise any exception of its client
            raise UsageError(f"{place}: the Iceberg catalog cannot be opened: {error}") from error

    def captures(self) -> list[tuple[str, str]]:
        """Returns (source, capture) of all datasets in the lake."""
        found = self._opened(SOURCES)
        if found is None:
            return []
        rows = found.scan(selected_fields=(SOURCE, "capture")).to_arrow()
        return list(zip(rows[SOURCE].to_pylist(), rows["capture"].to_pylist(), strict=True))

    def _opened(self, name: str) -> Any:
        try:
            return self._catalog.load_table((self._namespace, name))
        except NoSuchTableError:
            return None

    def write(self, table: LakeTable, replaced: Sequence[str]) -> None:
        """Replaces the rows of the replaced sources by new ones, in one commit; creates the table if there is none."""
        found = self._opened(table.name) or self._made(table)
        with found.update_schema() as schema:
            schema.union_by_name(table.schema)
        with found.transaction() as commit:
            if found.current_snapshot() is not None:
                commit.delete(f"{SOURCE} in ({quoted_list(replaced)})")
            for chunk in table.chunks():
                commit.append(chunk)

    def _made(self, table: LakeTable) -> Any:
        made = self._catalog.create_table(
            (self._namespace, table.name), schema=table.schema, properties={"comment": table.comment}
        )
        with made.update_spec() as spec:
            for column in PARTITIONS:
                spec.add_field(column, IdentityTransform(), column)
        return made


def _catalog(place: str) -> tuple[Catalog, str]:
    name, dot, namespace = place.partition(".")
    if dot and "/" not in place and not Path(place).exists():
        return load_catalog(name), namespace
    folder = Path(place).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    uri = f"sqlite:///{folder / CATALOG_FILE}"
    return load_catalog(NAMESPACE, type="sql", uri=uri, warehouse=folder.as_uri()), NAMESPACE
