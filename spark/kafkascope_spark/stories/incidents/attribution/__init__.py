"""What belongs to a failure: stalls, recoveries, rebalances, starts, transactions and other failures."""
