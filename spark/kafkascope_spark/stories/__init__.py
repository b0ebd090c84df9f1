"""The stories: state machines in plain Python that follow clients, groups, transactions and brokers over events, and
the tables that they make. Nothing here imports Spark."""
