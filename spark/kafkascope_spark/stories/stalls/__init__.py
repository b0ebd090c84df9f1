"""Who was not served, from when to when."""
