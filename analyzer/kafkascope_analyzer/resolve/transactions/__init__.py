"""What became of each transactional id's transactions, and whom they blocked."""
