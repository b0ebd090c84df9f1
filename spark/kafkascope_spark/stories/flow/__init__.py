"""The flow of records through topic-partitions: the table partition_flow."""
