"""A dataset whose small tables are read once and stay in memory, for reports.

The report's sections, the page and the trace read the same tables with different columns and filters. Tables of more
than MOST_KEPT_ROWS rows are read as in any dataset: only the requested columns and rows.
"""

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset

MOST_KEPT_ROWS = 20_000
"""Most rows of a table that is kept: some 10 MB of requests, 50 MB of connections with many roles."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptTables(Dataset):
    """The dataset, with the tables that were already read."""

    _kept: dict[str, pa.Table] = field(default_factory=dict, init=False, repr=False)
    for_next_run: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)
    """Files that a report may leave beside the tables for the next one: name -> content."""

    def _of_all_clusters(self, table: str | Table) -> Any:
        """Returns the table like Dataset; a small one from memory, where it is checked, and has only the rows of the
        dataset's own cluster."""
        import pyarrow.dataset as ds

        name = table if isinstance(table, str) else table.stored_as
        if name not in self._kept:
            found = Dataset._of_all_clusters(self, table)
            if not 0 < self.listed_rows(name) <= MOST_KEPT_ROWS:
                return found
            self.check(name)
            with self._reading(name):
                self._kept[name] = found.to_table(filter=self.selection(name), use_threads=False)
        return ds.dataset(self._kept[name])


def kept(dataset: Dataset) -> KeptTables:
    """Returns the dataset with its small tables kept from now on."""
    if isinstance(dataset, KeptTables):
        return dataset
    return KeptTables(dataset.storage, dataset.manifest, dataset.unfinished_run, dataset.only, dataset._checked)
