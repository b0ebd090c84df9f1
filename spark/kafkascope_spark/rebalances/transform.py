"""`rebalances`: rows of the table of that name."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import REBALANCES
from kafkascope_spark.tables import Tables


def rebalances(tables: Tables) -> DataFrame:
    """The rows of the table rebalances. Lazy."""
    return tables.empty(REBALANCES)
