"""The entry of ingest: `run.ingest` reads captures and writes a dataset, using the packages read, scan, resolve and
workers."""
