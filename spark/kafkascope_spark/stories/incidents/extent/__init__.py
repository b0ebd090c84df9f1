"""Where a failure was, and from when to when."""
