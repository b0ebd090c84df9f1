"""Which connections are one running client object, and what it is."""
