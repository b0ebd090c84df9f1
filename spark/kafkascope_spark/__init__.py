"""Spark: clients, their starts and their recoveries from the tables of a dataset."""

__version__ = "0.1.0"
"""The version of the kafkascope package. A literal: an executor that was given the package with --py-files has no
metadata of it."""
