"""The first pass over a bucket of connections: segments are decoded, and their rows are spilled to disk."""
