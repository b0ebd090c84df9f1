"""What happened in consumer, share and streams groups: their generations."""
