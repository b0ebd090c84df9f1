"""Workers get few megabytes at a time of rows that are large; a session of somebody else keeps its settings."""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.session import small_batches
from kafkascope_spark.session.jvm_options import CREATED_BY_US, DATA_OPTIONS, MOST_BATCH_BYTES

MEGABYTE = 1 << 20


class Settings(dict[str, str]):
    """The settings of a session."""

    set = dict.__setitem__


@pytest.mark.parametrize(
    ("given", "inside"), [({}, None), ({MOST_BATCH_BYTES: "7"}, "7"), (DATA_OPTIONS, str(32 * MEGABYTE))]
)
def test_only_a_session_of_ours_is_changed_and_only_inside(given: dict[str, str], inside: str | None) -> None:
    session: Any = SimpleNamespace(conf=Settings(given))
    with small_batches(session):
        assert session.conf.get(MOST_BATCH_BYTES) == inside
    assert session.conf == given


def test_a_failure_inside_leaves_no_setting() -> None:
    session: Any = SimpleNamespace(conf=Settings(DATA_OPTIONS))
    with pytest.raises(ZeroDivisionError), small_batches(session):
        raise ZeroDivisionError
    assert session.conf == DATA_OPTIONS


def megabytes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for _ in range(batch.num_rows):
            yield pa.RecordBatch.from_arrays([pa.array([bytes(MEGABYTE)])], names=["payload"])


def sizes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows])], names=["n"])


@pytest.mark.spark
def test_rows_of_a_megabyte_come_in_batches_of_few(spark: Any) -> None:
    """After an exchange, as those of ingest do. A session of the user's has Spark's own limit of 64 MB."""
    assert spark.conf.get(CREATED_BY_US) == "true"
    rows = spark.range(0, 80, 1, 1).mapInArrow(megabytes, "payload binary").repartition(1)
    with small_batches(spark):
        ours = rows.mapInArrow(sizes, "n long").toArrow()["n"].to_pylist()
    foreign = spark.newSession()
    for name in (CREATED_BY_US, MOST_BATCH_BYTES):
        foreign.conf.unset(name)
    assert sum(ours) == 80
    assert max(ours) <= 33
    assert foreign.conf.get(MOST_BATCH_BYTES) == f"{64 * MEGABYTE}b"
