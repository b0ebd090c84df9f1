"""Restarts of brokers: when each was down, its release before and after, and who waited because of it."""
