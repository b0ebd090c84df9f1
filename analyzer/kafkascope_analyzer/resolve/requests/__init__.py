"""Which single requests, errors and topic-partitions decide a client's story."""
