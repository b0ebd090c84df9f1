"""The numbers that rules compare with, each with its source or reason. None is tuned to a capture."""

IDLE_CLOSE_MS = 540_000
"""connections.max.idle.ms of Java clients (9 min); brokers close after 10 min (600,000)."""

LOAD_MS = 500
"""A coordinator that loads for so long: five tries at the default retry.backoff.ms of 100."""
LOAD_APART_S = 10
"""Answers further apart are of two loads: metadata.max.age.ms, elections and restarts take longer than retries do."""
THROTTLED_MS = 1_000
"""In all: the length of one quota window (quota.window.size.seconds, default 1)."""
SESSIONS_LOST = 5
"""Fetch sessions that a broker forgets: a restart or an eviction loses each connection one at most."""
SESSION_SAFE_MS = 120_000
"""min.incremental.fetch.session.eviction.ms: a session that is used cannot be dropped sooner (KIP-227)."""
STORM = 10
"""More answers than that about one thing are a storm (the same as of an episode of recovery)."""
RESET_AFTER_MS = 30_000
"""A consumer looks for its new offset at once; one try may take request.timeout.ms."""
TOPIC_MISSING_MS = 5_000
"""A topic that is being created is known to all brokers sooner: the controller answers within a second, brokers follow
its log."""
