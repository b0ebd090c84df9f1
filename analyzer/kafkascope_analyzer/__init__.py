"""Files, command line, the ingest pipeline, connections and their roles, the dataset and its reports."""

import os

# What numpy and pyarrow read when they are first imported.
# Kernels get room for the most that could come, and touch little of it: with huge pages each touch would clear 2 MiB.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
# The same of Arrow's own allocator; the system's gives small pages, and keeps them.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# No linear algebra here: a thread for it would only spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
