"""Spark: clients, their starts and their recoveries from the tables of a dataset."""
