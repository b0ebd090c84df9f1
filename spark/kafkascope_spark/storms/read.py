"""Requests and errors of the addresses that have a storm, read by Spark's workers from the dataset's files: what
events.request_events and events.failure_events give of them, in packs."""

import pathlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_spark.deciding import decides
from kafkascope_spark.events import FAILURE, REQUEST
from kafkascope_spark.storms.packs import NAMING, bodies, keyed, packer
from kafkascope_spark.storms.storm import Storm, files_of, scanned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Reader(Protocol):
    """Reads files of one table."""

    def read(self, path: pathlib.Path) -> Iterator[pa.RecordBatch]:
        """The rows of a file that packs are made of."""


def stormy_requests(session: "SparkSession", storm: Storm) -> "DataFrame":
    """Rows that name packs of the requests that decide, and of the errors. Lazy."""
    work: list[tuple[Reader, pathlib.Path]] = [(RequestsOf(storm), path) for path in files_of(storm.dataset, REQUESTS)]
    work += [(FailuresOf(storm), path) for path in files_of(storm.dataset, ERRORS)]
    return packed_by_workers(session, work, storm.packs)


def packed_by_workers(
    session: "SparkSession", work: list[tuple[Reader, pathlib.Path]], packs: pathlib.Path
) -> "DataFrame":
    """Rows that name packs of what the files have: a task each. Lazy."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                reader, path = work[number]
                yield from packer(packs, reader.read(path))
        pa.default_memory_pool().release_unused()

    return session.range(0, len(work), 1, max(len(work), 1)).mapInArrow(pack, NAMING)


class RequestsOf:
    """Reads the requests that decide."""

    def __init__(self, storm: Storm) -> None:
        self._mine = storm.is_mine

    def read(self, path: pathlib.Path) -> Iterator[pa.RecordBatch]:
        """The rows of a file that packs are made of."""
        known = pc.is_valid(pc.field("api_key")) & (pc.field("status") != "orphan_response")
        columns = [*REQUEST, "client_ip", "request_packet_no"]
        for batch in scanned(path, REQUESTS, columns, self._mine & known):
            rows = batch.filter(decides(batch))
            keys = keyed(rows, 0, rows.column("request_packet_no"), rows.column("request_id"))
            yield pa.RecordBatch.from_pydict({**keys, "request": bodies(rows, REQUEST)})


class FailuresOf:
    """Reads the errors."""

    def __init__(self, storm: Storm) -> None:
        self._mine = storm.is_mine

    def read(self, path: pathlib.Path) -> Iterator[pa.RecordBatch]:
        """The rows of a file that packs are made of."""
        columns = list(dict.fromkeys([*FAILURE, "client_ip", "ts_ns", "packet_no", "where", "error_code"]))
        for rows in scanned(path, ERRORS, columns, self._mine & (pc.field("error_code") != 0)):
            names = [rows.column(name) for name in ("request_id", "where", "resource")]
            tie = pc.binary_join_element_wise(*names, "|", null_handling="skip")
            keys = keyed(rows, 1, rows.column("packet_no"), tie)
            yield pa.RecordBatch.from_pydict({**keys, "failure": bodies(rows, FAILURE)})
