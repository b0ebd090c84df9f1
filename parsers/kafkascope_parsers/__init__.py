"""Decodes bytes to columns: capture formats, link layers, TCP, Kafka framing, pairing of requests and responses, and
message decoding."""
