"""Findings: each module of `rules` defines one rule; `registry` lists them."""
