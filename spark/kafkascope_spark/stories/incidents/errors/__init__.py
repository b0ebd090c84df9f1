"""Detectors of failures that errors in responses, or requests without a response, show."""
