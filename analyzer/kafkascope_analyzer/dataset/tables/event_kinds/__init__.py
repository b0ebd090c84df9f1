"""The kinds of events, a class each (event.py)."""
