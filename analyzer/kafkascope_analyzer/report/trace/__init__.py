"""The report as a trace for ui.perfetto.dev."""
