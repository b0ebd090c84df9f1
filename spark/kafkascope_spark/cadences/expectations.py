"""What a loop should do, as data: the defaults of the libraries, the idle limits of brokers, clients and
middleboxes. Milliseconds.

Sources: heartbeat.interval.ms, auto.commit.interval.ms, metadata.max.age.ms, max.poll.interval.ms,
connections.max.idle.ms (clients 540000, brokers 600000), max.in.flight.requests.per.connection of Kafka's
documentation; the defaults of librdkafka's CONFIGURATION.md, franz-go's kgo options, sarama's config.go, kafkajs's,
kafka-python's and aiokafka's documentation.
"""

HEARTBEAT_MS = 3_000
MAX_POLL_INTERVAL_MS = 300_000
MAX_IN_FLIGHT = 5
COMMIT_MS: dict[str, int] = {
    "java": 5_000,
    "librdkafka": 5_000,
    "franz-go": 5_000,
    "sarama": 1_000,
    "kafka-python": 5_000,
    "aiokafka": 5_000,
}
"""Library -> automatic commit interval; kafkajs commits after each batch."""
METADATA_MS: dict[str, int] = {"sarama": 600_000}
DEFAULT_METADATA_MS = 300_000
CLIENT_IDLE_MS = 540_000
BROKER_IDLE_MS = 600_000
MIDDLEBOX_IDLE_MS = (240_000, 300_000)
"""Idle limits of load balancers and firewalls that are shorter than Kafka's."""
IDLE_TOLERANCE_MS = 30_000
"""An idle limit is looked at now and then only (Selector: with each poll; brokers: with the next event)."""
SLACK_IDLE_MS = 1_000
"""How much shorter than the limit an idle time may be measured."""
LEAST_IDLE_MS = 60_000
"""A connection closed after less idle time was not closed for being idle."""
