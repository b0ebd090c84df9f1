"""What a client instance is called in a sentence."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_spark.findings.rule import called
from kafkascope_spark.tables import Tables

_ID = "named_instance"


def with_name(rows: DataFrame, tables: Tables, instance: str, name: str) -> DataFrame:
    """Add a column name: what the client instance in the column instance is called; null where that is null. Lazy."""
    names = tables[CLIENTS].select(
        fn.col("client_instance_id").alias(_ID), called("client_id", "client_ip").alias(name)
    )
    return rows.join(fn.broadcast(names), on=fn.col(instance) == fn.col(_ID), how="left").drop(_ID)
