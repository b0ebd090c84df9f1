"""Whether a dataset has the tables from which a section of the report is made."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import has_table
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_spark.stories.tables import CLIENTS


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether Spark's stories, or those for a section of the report, are in the dataset."""

    present: Annotated[bool, "whether the dataset has the table"]
    why_not: Annotated[str | None, "why the dataset lacks it, and what to do"]


def presence(dataset: Dataset, table: Table) -> Presence:
    """Returns whether the dataset has a table that Spark writes; if not, with the reason."""
    present, stories = has_table(dataset, table), has_table(dataset, CLIENTS)
    return Presence(present, None if present else OLD_STORIES if stories else NO_STORIES)
