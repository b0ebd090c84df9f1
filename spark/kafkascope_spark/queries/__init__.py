"""Runs the queries of finding rules on Spark."""
