"""States of brokers: how each host saw each broker over time."""
