"""The tables that a query can name, and the views and macros that can be made over the tables of a dataset."""

from collections.abc import Collection, Iterator

from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES
from kafkascope_analyzer.sql.saved import SavedSql, macros, views
from kafkascope_spark.stories.tables import STORY_TABLES

TABLES = (*INGEST_TABLES, *STORY_TABLES)


def message_view(stored: str) -> str:
    """Returns the name of messages of a kind in queries: `Metadata_response` for `messages/Metadata/response`."""
    _, api, direction = stored.split("/")
    return f"{api}_{direction}"


def table_and_view_names() -> frozenset[str]:
    """Returns the names that a saved question may read, except messages and macros."""
    return frozenset({table.name for table in (*TABLES, *REFERENCE_TABLES)} | {view.name for view in views()})


def available(tables: Collection[str], messages: Collection[str] | None = None) -> Iterator[SavedSql]:
    """Yields the views and macros that can be made over these tables, each after those that it reads. messages: the
    messages of the dataset, as in `Fetch_request`; None: any may be named."""
    there = set(tables)
    names = table_and_view_names()
    for saved in (*views(), *macros()):
        has_messages = messages is None or all(message in messages for message in saved.messages)
        if has_messages and all(name in there for name in names if saved.names(name)):
            there.add(saved.name)
            yield saved
