"""Findings: one rule a module, in `rules`; `registry` lists them."""
