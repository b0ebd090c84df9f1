"""Client instances: which connections belong to one running client, and what kind of client it is."""
