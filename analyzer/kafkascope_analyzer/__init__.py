"""Files, command line, the ingest pipeline, connections and their roles, the dataset and its reports."""

import os

# Kernels get room for the most that could come, and touch little of it: with huge pages each touch would clear 2 MiB.
# numpy reads this when it is first imported.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
