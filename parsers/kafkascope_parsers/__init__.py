"""Bytes in, columns out: capture formats, link layers, TCP, Kafka framing, pairing and message decoding."""
