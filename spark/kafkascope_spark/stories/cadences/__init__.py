"""Cadences: the intervals of what a running client does periodically: heartbeats, fetches, commits, metadata refreshes,
idle connections."""
