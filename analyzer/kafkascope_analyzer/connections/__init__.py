"""What each TCP connection is: its life, its roles, the broker behind it."""
