"""Limits of the memory that a process holds, and the return of free memory to the system."""
