"""A damaged file that Spark's own reader or a Python worker met is named, and is no failure of Spark."""

import pytest

from kafkascope_parsers.errors import DamagedDatasetError, SparkError
from kafkascope_spark.failures import spark_failures

READER = (
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///d/a%20b.kscope/requests/part-0.parquet."
)
WORKER = "Traceback (most recent call last):\nkafkascope_parsers.errors.DamagedDatasetError: x.parquet: is gone\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [(READER, "/d/a b.kscope/requests/part-0.parquet"), (WORKER, "x.parquet: is gone")],
)
def test_a_damaged_file_is_named(text: str, said: str) -> None:
    with pytest.raises(DamagedDatasetError, match=said), spark_failures():
        raise OSError(text)


def test_other_failures_are_spark_s() -> None:
    with pytest.raises(SparkError), spark_failures():
        raise OSError("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/part-0.parquet.")
