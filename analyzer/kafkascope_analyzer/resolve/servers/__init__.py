"""Events of servers: which servers there are, and whether each was up, slow, or silent, as its hosts saw it."""
