"""Episodes: from the first error on a resource to the next success."""
