"""The options of the data source."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafkascope_analyzer.connections.hosts import Entry, read_hosts
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.manifest import STORIES
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

_TABLES = {table.name: table for table in (*INGEST_TABLES, *STORY_TABLES)}
TABLE, RECORDS, HOSTS = "table", "records", "hosts"
_OPTIONS = (TABLE, RECORDS, HOSTS)
_PLACES = frozenset({"path", "paths"})
"""Keys of the arguments of `load`, which Spark adds to the options."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Parsed options. table: table to read, `requests` by default; detail: level of detail of records that ingest
    writes (option `records`); hosts: names and addresses of brokers (option `hosts`, a file on the driver's
    machine)."""

    table: Table
    detail: RecordDetail = RecordDetail.COUNTS
    hosts: tuple[Entry, ...] = ()

    @property
    def is_story(self) -> bool:
        """Whether the table is one of the stories."""
        return self.table.folder == STORIES

    @property
    def name(self) -> str:
        """Name of the table in a manifest."""
        return self.table.stored_as

    def check_capture_table(self) -> None:
        """Raises UsageError for a table that only a dataset has."""
        if self.is_story:
            raise UsageError(
                f"the table {self.table.name} needs the stories of a dataset: run kafkascope analyze, and load what it "
                "writes"
            )

    def check_dataset_options(self) -> None:
        """Raises UsageError for options of ingest, because a dataset has already been ingested."""
        if self.detail is not RecordDetail.COUNTS or self.hosts:
            raise UsageError(f"{RECORDS} and {HOSTS} are options for captures: a dataset has been ingested already")


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """Parses the user's options. Raises UsageError, which lists the possible values."""
    for name in given:
        if name.lower() not in _PLACES and name.lower() not in _OPTIONS:
            raise UsageError(
                f"there is no option {name}{did_you_mean(name, _OPTIONS)}: the options are {', '.join(_OPTIONS)}"
            )
    table = given.get(TABLE, "requests")
    if table not in _TABLES:
        raise UsageError(
            f"there is no table {table}{did_you_mean(table, _TABLES)}: the tables are {', '.join(_TABLES)}"
        )
    detail = given.get(RECORDS, RecordDetail.COUNTS.name.lower())
    details = {each.name.lower(): each for each in RecordDetail}
    if detail not in details:
        raise UsageError(f"{RECORDS} cannot be {detail}: it is one of {', '.join(details)}")
    return ReadOptions(_TABLES[table], details[detail], read_hosts(Path(given[HOSTS])) if HOSTS in given else ())
