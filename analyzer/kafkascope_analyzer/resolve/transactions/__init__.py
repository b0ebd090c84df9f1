"""Events of transactional ids: the course of their transactions, and the consumers that they blocked."""
