"""What failed, and what followed from it."""
