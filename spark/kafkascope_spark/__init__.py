"""Spark: clients, their starts and their recoveries from the tables of a dataset."""

__version__ = "0.1.0"
"""Version of the kafkascope package. It is a literal because an executor that gets the package with --py-files has no
metadata of it."""
