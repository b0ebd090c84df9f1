"""Detectors of failures of consumer groups, and what held their rebalances up."""
