"""Counts of requests, from which sections of the report are made, and which are saved with the dataset."""
