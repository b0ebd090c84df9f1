"""Sentences and advice that several kinds of incidents have in common."""
