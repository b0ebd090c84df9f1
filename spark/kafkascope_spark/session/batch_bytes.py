"""How many bytes Spark gives a Python worker at a time, for jobs whose rows hold megabytes each.

Spark itself limits a batch to 64 MB. The sessions that we create have no such limit (jvm_options says why), and get one
for the time of these jobs. A session that somebody else created keeps its settings.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkascope_spark.session.jvm_options import CREATED_BY_US, MOST_BATCH_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_BYTES = 32 << 20


@contextmanager
def small_batches(session: "SparkSession") -> Iterator[None]:
    """Inside the block a session that we created gives workers batches of some _BATCH_BYTES."""
    if session.conf.get(CREATED_BY_US, None) is None:
        yield
        return
    before = session.conf.get(MOST_BATCH_BYTES)
    session.conf.set(MOST_BATCH_BYTES, str(_BATCH_BYTES))
    try:
        yield
    finally:
        session.conf.set(MOST_BATCH_BYTES, str(before))
