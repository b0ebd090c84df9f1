"""The numbers that rules compare with, each with its source or reason. None is tuned to a capture."""

IDLE_CLOSE_MS = 540_000
"""connections.max.idle.ms of Java clients (9 min); brokers close after 10 min (600,000)."""
