"""SQL over a dataset, in DuckDB: every table is a view, and messages have their nested fields. It reads nothing but the
dataset.
"""
