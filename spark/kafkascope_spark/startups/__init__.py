"""Starts of clients: from the first SYN to ready, step by step."""
