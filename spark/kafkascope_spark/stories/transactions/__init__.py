"""Transactions of transactional producers: when each began, and how it ended."""
