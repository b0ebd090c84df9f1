"""The report on a dataset: its model (`report.json`) and what shows it. Reads Parquet with pyarrow, never with
Spark.
"""
