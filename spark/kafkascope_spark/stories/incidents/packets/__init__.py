"""Answers to questions about single requests of a dataset, read from its tables when an incident needs them."""
