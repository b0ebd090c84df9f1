"""The intervals and limits that a client's periodic requests are compared with, where they are the same for all
libraries, and idle limits of brokers, clients and middleboxes. In milliseconds.

Sources: heartbeat.interval.ms, max.poll.interval.ms, connections.max.idle.ms (clients 540000, brokers 600000),
max.in.flight.requests.per.connection of Kafka's documentation.
"""

HEARTBEAT_MS = 3_000
MAX_POLL_INTERVAL_MS = 300_000
MAX_IN_FLIGHT = 5
CLIENT_IDLE_MS = 540_000
BROKER_IDLE_MS = 600_000
MIDDLEBOX_IDLE_MS = (240_000, 300_000)
"""Idle limits of load balancers and firewalls that are shorter than Kafka's."""
IDLE_TOLERANCE_MS = 30_000
"""How much longer than the limit a connection may be idle, because the limit is checked only from time to time
(Selector: with each poll; brokers: with the next event)."""
IDLE_UNDERSHOOT_MS = 1_000
"""How much shorter than the limit the measured idle time may be."""
MIN_IDLE_MS = 60_000
"""A connection that was closed after less idle time was not closed for being idle."""
