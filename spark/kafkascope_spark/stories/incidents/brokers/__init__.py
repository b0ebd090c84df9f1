"""Detectors of failures of brokers, controllers and the paths to them."""
