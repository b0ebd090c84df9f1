"""The report on a terminal: lays out the texts of the model."""
