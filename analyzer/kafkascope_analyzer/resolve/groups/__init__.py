"""What formed and changed each group, what its members committed, and how far they were behind."""
