"""Names of the limits that a dataset's manifest reports when they were reached, with the meaning of each."""

CONNECTIONS = "connections"
STREAM_BUFFER = "stream_buffer"
WAITING_REQUESTS = "waiting_requests"
WAITING_QUESTIONS = "waiting_questions"
TLS_HANDSHAKES = "tls_handshakes"
TLS_WAITING = "tls_waiting"
TLS_CANDIDATES = "tls_candidates"
FRAGMENTS = "fragments"
DATAGRAMS = "datagrams"
PARTITION_FLOW = "partition_flow"
CLUSTERS = "clusters"

MEANINGS = {
    CONNECTIONS: ("segment", "of further connections left out: the table of connections was full"),
    STREAM_BUFFER: ("hole", "in streams given up early: too many bytes waited behind them"),
    WAITING_REQUESTS: ("request", "given up as unanswered: too many waited for a response"),
    WAITING_QUESTIONS: ("DNS question", "given up as unanswered: too many waited for an answer"),
    TLS_HANDSHAKES: ("TLS handshake", "of which only the beginning was read: too many went on at a time"),
    TLS_WAITING: (
        "TLS connection",
        "without a handshake not tried with the key log: too many of them waited for a whole record",
    ),
    TLS_CANDIDATES: (
        "TLS connection",
        "without a handshake tried with some sessions of the key log only: it has too many",
    ),
    FRAGMENTS: ("IP packet", "of which too many fragments waited for the rest left out"),
    DATAGRAMS: ("DNS datagram", "not read: there were too many"),
    PARTITION_FLOW: ("partition response", "left out of latency and lag: too many topic-partitions were in use"),
    CLUSTERS: ("cluster", "not distinguished from the others: there were too many"),
}
"""The counted thing, in the singular, and what happened to it: left out, or given up."""
