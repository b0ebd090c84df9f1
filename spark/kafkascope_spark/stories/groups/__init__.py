"""Classic, consumer, share and streams groups: their generations and group epochs."""
