"""Findings: one rule a module, all of them in `rules`."""
