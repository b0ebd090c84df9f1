"""What the loops of a client do once it is up: heartbeats, fetches, commits, metadata, idle connections."""
