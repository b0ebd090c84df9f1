"""Restarts of brokers: when each broker was down, its release before and after, and which clients waited because of
it."""
