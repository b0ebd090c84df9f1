"""Record sets: what is in the records fields of Produce and Fetch."""

from kafkascope_parsers.records.summary import summarize_record_sets

__all__ = ["summarize_record_sets"]
