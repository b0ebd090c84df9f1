"""What a client instance is called in a sentence."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_spark.findings import wording
from kafkascope_spark.tables import Tables


def names(tables: Tables) -> DataFrame:
    """named_instance, called: one row per client instance. Lazy."""
    return tables[CLIENTS].selectExpr("client_instance_id as named_instance", f"{wording.called()} as called")


def with_name(rows: DataFrame, tables: Tables, instance: str, name: str) -> DataFrame:
    """Add a column name: what the client instance in the column instance is called; null where that is null. Lazy."""
    named = tables.once(names).withColumnsRenamed({"called": name, "named_instance": f"{name}_instance"})
    same = fn.expr(f"{instance} = {name}_instance")
    return rows.join(fn.broadcast(named), on=same, how="left").drop(f"{name}_instance")
