"""Files, command line, the ingest pipeline, connections and their roles, the dataset and its reports."""
