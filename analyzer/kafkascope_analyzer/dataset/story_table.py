"""`story_table`: how each table of the stories is declared."""

from kafkascope_analyzer.dataset.contract import Column, Table
from kafkascope_analyzer.dataset.tables.columns import CLUSTER


def story_table(name: str, row: str, columns: tuple[Column, ...]) -> Table:
    """A table of the stories: its first column is the cluster, which the writer fills."""
    return Table(name, row, (CLUSTER, *columns))
