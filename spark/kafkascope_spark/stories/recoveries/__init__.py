"""Recoveries (episodes) of clients: from the first error on a resource to the next success."""
