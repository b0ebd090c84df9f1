"""How records passed through topic-partitions: the table partition_flow."""
