"""The entry: `run.ingest` reads captures and writes a dataset, by way of the rooms read, scan, resolve and workers."""
