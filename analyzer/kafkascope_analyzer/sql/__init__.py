"""SQL over a dataset, in DuckDB: every table a view, messages with their nested fields. Reads the dataset, nothing
else.
"""
