"""`transactions`: rows of the table of that name."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.tables import Tables


def transactions(tables: Tables) -> DataFrame:
    """The rows of the table transactions. Lazy."""
    return tables.empty(TRANSACTIONS)
