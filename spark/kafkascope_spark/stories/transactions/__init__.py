"""Transactions: what each transactional producer began, and how it ended."""
