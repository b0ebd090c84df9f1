"""Events of the single requests, errors and topic-partitions that matter for a client's story."""
