"""Columns and state of framing, as structured arrays of np.record that kernels fill, compiled or not.

A frame's bytes are data[start:end] of the block, the 4 bytes of size included; `size` is what the frame says it has
(also with them). A stretch is bytes of a stream that are not part of a whole frame. Offsets in `data` are only valid
for the block they came with.
"""

import numpy as np

FRAME = np.dtype(
    (
        np.record,
        [
            ("direction", "i8"),
            ("start", "i8"),
            ("end", "i8"),
            ("size", "i8"),
            ("ts_ns", "i8"),  # first byte
            ("last_ns", "i8"),  # last byte
            ("packet_no", "i8"),  # first byte
            ("number", "i8"),  # requests: number on the connection, from 0; orphan responses: number among them
            ("row", "i8"),  # responses: row of the request they answer in the open requests, -1 for an orphan
            ("correlation_id", "i4"),
            ("in_flight", "i4"),
            ("api_key", "i2"),  # responses: that of the request, -1 for an orphan
            ("api_version", "i2"),
            ("before_ns", "i8"),  # responses: last byte of the response before it on the connection, 0 for none
            ("client_id_length", "i2"),  # requests; -1 is null; the text starts at start + CLIENT_ID_AT
            ("wholeness", "u1"),
            ("out_of_order", "u1"),  # responses: that to a later request of the connection came before it
        ],
    )
)
WHOLE, CUT_BY_GAP, CUT_BY_SNAPLEN, CUT_BY_END, OVERSIZE = range(5)
"""FRAME.wholeness: whether all its bytes are there, or why not."""

CLIENT_ID_AT = 14
"""Bytes from the start of a request frame to the text of its client id: size 4, API key 2, version 2, correlation
id 4, length 2.
"""

STRETCH = np.dtype(
    (
        np.record,
        [
            ("direction", "i8"),
            ("stream_offset", "i8"),
            ("start", "i8"),
            ("length", "i8"),
            ("ts_ns", "i8"),
            ("packet_no", "i8"),
            ("reason", "u1"),
        ],
    )
)
(
    REASON_GAP,
    REASON_MID_STREAM,
    REASON_NOT_KAFKA,
    REASON_TLS,
    REASON_OVERSIZE,
    REASON_SNAPLEN,
    REASON_SASL,
    REASON_END,
    REASON_CLOSED,
    REASON_ZOOKEEPER,
) = range(10)
REASONS = (
    "gap",
    "mid_stream_start",
    "not_kafka",
    "tls",
    "oversize",
    "truncated_by_snaplen",
    "sasl_token",
    "capture_end",
    "connection_end",
    "zookeeper",
)
"""Names of STRETCH.reason."""

DIRECTION = np.dtype(
    (
        np.record,
        [
            ("mode", "u1"),
            ("reason", "u1"),  # why bytes are passed over in EXPECT and HUNT
            ("seen", "u1"),  # whether it brought a byte
            ("expect", "i8"),  # EXPECT: stream offset of the next frame
        ],
    )
)
START, SYNC, EXPECT, HUNT = range(4)
"""DIRECTION.mode: at the first byte; at a frame's first byte; the next frame's place is known but not reached;
looking for a frame.
"""

CONNECTION = np.dtype(
    (
        np.record,
        [
            ("client_side", "i1"),  # 0 or 1; -1 is not known yet
            ("client_side_by", "u1"),
            ("protocol", "u1"),
            ("raw_sasl", "u1"),  # SaslHandshake v0 was sent: tokens without a header may follow
            ("n_requests", "i8"),
            ("n_orphans", "i8"),
            ("head", "i8"),  # oldest waiting request in the pool, -1 for none
            ("tail", "i8"),
            ("pending", "u1"),  # whether the beginning of a request waits for its rest, and its correlation id
            ("pending_id", "i4"),
            ("n_waiting", "i4"),
            ("max_in_flight", "i4"),
            ("n_given_up", "i8"),  # requests that waited too long: see WAITING_LIMIT
            ("n_answers", "i8"),  # responses so far, orphans included
            ("answered_ns", "i8"),  # last byte of the last response that came in order, 0 before the first
            ("overtaken_head", "i8"),  # the request that was overtaken first, and the last one: see pool
            ("overtaken_tail", "i8"),
            ("n_overtaken", "i4"),
            ("lacks_responses", "u1"),  # whether bytes of the server are missing since the last paired response
        ],
    )
)
BY_SYN, BY_FIRST_REQUEST, BY_PORT = range(3)
"""CONNECTION.client_side_by: how client and server were distinguished."""
UNKNOWN, KAFKA, TLS, HTTP, OTHER, ZOOKEEPER, PROXY = range(7)
"""CONNECTION.protocol."""

WAITING = np.dtype(
    (
        np.record,
        [
            ("next", "i8"),
            ("row", "i8"),
            ("overtaken_at", "i8"),  # responses of the connection when it was overtaken
            ("correlation_id", "i4"),
            ("api_key", "i2"),
            ("api_version", "i2"),
        ],
    )
)
"""A request that waits for its response: a node of a list in one pool for all connections."""

FRAME_LIMIT = 64 << 20
"""Largest frame that is read whole: above Kafka's fetch.max.bytes (50 MiB). Brokers take requests up to 100 MiB
(socket.request.max.bytes). A partial frame is kept between blocks, so this limits memory.
"""
SIZE_LIMIT = (1 << 31) - 1
"""Largest size that a frame can have in its size field."""
TOKEN_LIMIT = 512 << 10
"""Largest raw SASL token (Kafka: sasl.server.max.receive.size)."""
SEARCH_LIMIT = 4096
"""Waiting requests that are searched for a correlation id: far more than clients have in flight. The limit keeps
hostile streams cheap.
"""
WAITING_LIMIT = 16_384
"""Requests of a connection that wait for their responses: four times SEARCH_LIMIT. Beyond it each new request replaces
the oldest one.
"""
OVERTAKEN_LIMIT = 256
"""Overtaken requests of a connection that may still be answered: more than clients have in flight, and few enough to be
searched for each response that answers no other request."""
OVERTAKEN_RESPONSES = 1024
"""Responses after which an overtaken request is given up."""
WAITING_LIMIT_IN_ALL = 200_000
"""Requests of a bucket that wait for their responses: some 500 bytes each, with their row. The oldest of the
connections with the most are given up at the end of a block.
"""
UNDECIDED_LIMIT = 64 << 10
"""Bytes of each direction that wait for the proof of what the connection speaks."""
