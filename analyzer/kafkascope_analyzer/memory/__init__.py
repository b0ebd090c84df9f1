"""How much memory a process may hold, and how it gives free memory back to the system."""
