"""The report on a dataset: its model (`report.json`) and the modules that render it. Reads Parquet with pyarrow, never
with Spark.
"""
