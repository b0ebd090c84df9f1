"""The processes that share the work: one reads, each of the others scans and resolves a bucket."""
