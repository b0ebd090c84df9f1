"""Groups: their generations, what made each, and what it cost the members."""
