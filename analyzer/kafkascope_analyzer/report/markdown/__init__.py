"""The report as Markdown: lays out what the model says."""
