"""The processes that share the work: one reads, and each of the others scans and finishes a bucket."""
