"""Transactions: what each producer began, and how it ended."""
