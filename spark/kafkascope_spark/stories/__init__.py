"""What clients, groups, transactions and brokers did, as plain Python: state machines over events, and the tables that
they make. Nothing here knows Spark."""
