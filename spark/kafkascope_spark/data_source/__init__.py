"""Captures and datasets as DataFrames of any Spark session: `spark.read.format("kafkascope")`.

    spark.dataSource.register(KafkascopeDataSource)
    spark.read.format("kafkascope").option("table", "requests").load("s3://captures/*.pcap.zst")

source          the data source, which `load` and the options configure
read_options    the options
reader          partitions, and the rows of each
capture_points  grouping of captures that are read together
"""

from kafkascope_spark.data_source.source import KafkascopeDataSource

__all__ = ["KafkascopeDataSource"]
