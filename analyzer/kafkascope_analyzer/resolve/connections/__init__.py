"""What each connection was used for, how steadily, how it ended, and when its client was silent."""
