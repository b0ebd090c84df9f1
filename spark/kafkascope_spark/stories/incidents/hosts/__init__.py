"""Detectors of failures of the hosts of clients, and of what stands between them and the brokers."""
