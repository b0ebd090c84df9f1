"""Events of each connection: its usage, its request loops, its end, and the times in which its client was silent."""
