"""The report on a terminal: lays out what the model says."""
