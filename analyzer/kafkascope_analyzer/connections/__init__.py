"""Facts about each TCP connection: its life, its roles, the broker behind it."""
