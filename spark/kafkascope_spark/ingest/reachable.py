"""Checks whether the executors can reach the captures and the dataset's storage, and counts the tasks that they run at
the same time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANSWER = "missing string"


def check_reachable(session: "SparkSession", inputs: Sequence[CapturePlace], mark: Path | None) -> int:
    """Looks on the executors for the captures and key logs that are files, and for the mark file of a dataset on a disk
    (None if it is elsewhere). Returns the number of tasks that the cluster runs at the same time, according to Spark.

    Raises UsageError, in one sentence, if an executor does not find one of them.
    """
    files = {str(place.local): place.size_bytes() for place in inputs if place.local is not None}
    answers = (
        session.range(1 << 16).mapInArrow(_missing_files(files, None if mark is None else str(mark)), _ANSWER).toArrow()
    )
    for answer in answers.column(0).to_pylist():
        if answer:
            raise UsageError(answer)
    return max(int(answers.num_rows), 1)


def _missing_files(
    files: dict[str, int], mark: str | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that an executor runs. It yields one row per partition: a sentence about the first missing
    file, empty if it finds all."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        answer = ""
        for name, size in files.items():
            path = Path(name)
            if not path.is_file() or path.stat().st_size != size:
                answer = f"{name} is not on every executor of Spark: put it on storage that all of them reach"
        if mark is not None and not Path(mark).is_file():
            place = Path(mark).parent
            answer = f"{place} is not on every executor of Spark: -o has to name a place that all of them reach"
        yield pa.RecordBatch.from_arrays([pa.array([answer])], names=["missing"])

    return look
