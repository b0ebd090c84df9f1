"""What the events of one client address tell: which connections are of one client, and what it did."""
