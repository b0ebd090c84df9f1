"""The part of the report that comes from the tables of `ingest`, shown by `ingest` and `info`.

It is separate from the whole report so that these two commands start fast: the sections of the stories take a fifth of
a second to load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.tables import (
    CAPTURES,
    CONNECTIONS,
    ERRORS,
    OUT_OF_RANGE,
    PARTITIONS,
    RECORD_BATCHES,
    REQUESTS,
    ROLE_ROWS,
    TCP_EVENTS,
    TOPOLOGY,
    UNDECODED,
)
from kafkascope_analyzer.dataset.temporary_folders import temporary_folder
from kafkascope_analyzer.report.model.apis import Api, Errors, apis, errors
from kafkascope_analyzer.report.model.capture import Capture, Connections, capture, connections
from kafkascope_analyzer.report.model.capture_points import CapturePoints, capture_points
from kafkascope_analyzer.report.model.cluster import Cluster, cluster
from kafkascope_analyzer.report.model.data_quality import DataQuality, data_quality
from kafkascope_analyzer.report.model.failed_sections import FailedPartRow, failed_rows, sections
from kafkascope_analyzer.report.model.ledger import FullLedger, full_ledger
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.plain import arguments_of
from kafkascope_analyzer.sql.database import WorkMemory
from kafkascope_spark.stories.tables import CLIENTS, PARTITION_FLOW, STALLS, TRANSACTIONS

REPORT_VERSION = 1
_TABLES = [CAPTURES, CONNECTIONS, ERRORS, OUT_OF_RANGE, RECORD_BATCHES, REQUESTS, ROLE_ROWS, TCP_EVENTS, TOPOLOGY]
_TABLES += [PARTITIONS, UNDECODED, CLIENTS, PARTITION_FLOW, STALLS, TRANSACTIONS]
_MEMORY, _THREADS = "1GB", 2
"""Limits of a query, so that the report of a large capture takes no more memory than that of a small one."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The sections of the report that come from the tables of `ingest`."""

    report_version: Annotated[int, "1; it changes when a key changes its meaning or is removed"]
    failed_parts: Annotated[
        tuple[FailedPartRow, ...],
        "parts of the analysis that failed because of a defect; the rest of the report is valid",
    ]
    capture: Annotated[Capture, "input files, times and packets"]
    capture_points: Annotated[CapturePoints, "the clocks of the capture points, and the network between them"]
    connections: Annotated[Connections, "number of TCP connections, their protocols, how they began and ended"]
    cluster: Annotated[Cluster, "the brokers"]
    apis: Annotated[tuple[Api, ...], "each requested API, the most frequent first"]
    errors: Annotated[Errors, "error codes in the brokers' responses"]
    unread: Annotated[DataQuality, "bytes, packets and connections that the capture does not show in full"]

    @property
    def n_requests(self) -> int:
        """The number of requests. A response whose request is not in the capture does not count."""
        return sum(api.n for api in self.apis)


@dataclass(frozen=True, slots=True)
class Info(Traffic):
    """The model of `kafkascope info` for a dataset."""

    ledger: Annotated[FullLedger, "what became of every byte"]


@contextmanager
def report_tables(dataset: Dataset) -> Iterator[ReportTables]:
    """Opens the tables that sections of the report query. Raises UsageError where the system's folder for
    temporary files cannot be written."""
    with (
        temporary_folder("report") as scratch,
        ReportTables(dataset, _TABLES, WorkMemory(_MEMORY, scratch, _THREADS)) as database,
    ):
        yield database


def traffic_model(dataset: Dataset) -> Traffic:
    """Returns the part of the report that comes from the tables of `ingest`. Raises UsageError where a table cannot be
    read."""
    with report_tables(dataset) as database:
        return traffic_of(database, FailedParts())


def info_model(dataset: Dataset) -> Info:
    """Returns the part of the report that comes from the tables of `ingest`, with the byte ledger in full."""
    with report_tables(dataset) as database:
        return Info(**arguments_of(traffic_of(database, FailedParts())), ledger=full_ledger(database))


def traffic_of(database: ReportTables, failed_parts: FailedParts) -> Traffic:
    """Returns the part of the report that comes from the tables of `ingest`, from open tables. failed_parts: collects
    sections that cannot be made."""
    read = capture(database)
    made_by = {
        "capture_points": lambda: capture_points(database, read.files),
        "connections": lambda: connections(database),
        "cluster": lambda: cluster(database),
        "apis": lambda: apis(database),
        "errors": lambda: errors(database),
        "unread": lambda: data_quality(database),
    }
    made = sections(failed_parts, Traffic, made_by)
    failed = failed_rows(failed_parts.taken())
    return Traffic(report_version=REPORT_VERSION, failed_parts=failed, capture=read, **made)
