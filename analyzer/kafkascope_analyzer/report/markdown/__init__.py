"""The report as Markdown: lays out the texts of the model."""
