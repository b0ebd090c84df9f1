"""Which servers there are, and whether each was there, was slow, or was silent, as its hosts saw it."""
