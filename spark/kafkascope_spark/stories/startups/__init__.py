"""The starts of clients: from the first SYN until a client is ready, step by step."""
