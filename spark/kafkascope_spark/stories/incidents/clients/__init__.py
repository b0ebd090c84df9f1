"""Detectors of failures of clients."""
