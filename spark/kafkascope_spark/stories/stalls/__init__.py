"""Stalls: times in which clients and groups were not served."""
