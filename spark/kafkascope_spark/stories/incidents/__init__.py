"""Incidents: each is one failure with everything that followed from it."""
