"""Captures to Parquet: files, the two passes over each bucket, the byte ledger."""
