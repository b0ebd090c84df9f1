"""What is known of a TLS connection that nobody can decrypt, and of the messages on it: the rows that the kernels of
this package share."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type

CLIENT, SERVER = 0, 1
SPLIT = -1
"""In place of the size of a message of several records."""
N_SIZES = 4
"""Sizes of first records that are remembered of each direction."""
TURN = record_type(
    [
        ("client_side", np.int8),
        ("has_hellos", np.int8),
        ("handshake", np.int8),
        ("hash_bytes", np.int8),
        ("n_tickets", np.int8),
        ("overhead", np.int64),
        ("n_sent", np.int64),
        ("n_answered", np.int64),
        ("n_open_before", np.int64),
        ("last_end", np.int8),
        ("first_request", np.int64),
        ("first_response", np.int64),
        ("offers_alpn", np.int8),
        ("n_since", np.int64),
        ("pause_ns", np.int64),
        ("n_alternating", np.int64),
        ("least_pause_ns", np.int64),
        ("most_pause_ns", np.int64),
    ]
)
"""A connection. client_side: -1 where it is not to be read; has_hellos: whether both are known; handshake: whether
encrypted handshake messages of TLS 1.3 are still to come, and then hash_bytes is the size of a hash; n_tickets: tickets
of the server to come, which look like data; overhead: of each record's body; n_sent, n_answered: requests and responses
that began; n_open_before: requests without a response when the server's last record came; last_end: who sent the last
record; first_*: bytes of the first exchange, SPLIT where its response is of several records; offers_alpn: whether the
client says which protocols it speaks, as those of the web do; n_since: requests since the server's last record;
pause_ns: how long nobody had sent before the first of them; n_alternating: how many responses without a break came soon
after the only request since the response before, with others still open; *_pause_ns: of the pauses between these."""
_OF_MESSAGE: list[tuple[str, type[np.generic]]] = [
    ("number", np.int64),
    ("n_records", np.int64),
    ("n_bytes", np.int64),
    ("first_ns", np.int64),
    ("first_packet", np.int64),
    ("last_ns", np.int64),
    ("in_flight", np.int64),
    ("before_ns", np.int64),
]
"""What is known of a message, whether it is over or not; see MESSAGE."""
PART = record_type(
    [
        *_OF_MESSAGE,
        ("first_size", np.int64),
        ("last_size", np.int64),
        ("padding", np.int64),
        ("is_sure", np.int8),
        ("n_ends", np.int64),
        ("next_place", np.int64),
        ("usual", np.int64),
        ("n_alike", np.int64),
        ("held_records", np.int64),
        ("held_bytes", np.int64),
        ("held_ns", np.int64),
        ("held_packet", np.int64),
        ("held_last_ns", np.int64),
        ("held_first_size", np.int64),
        ("held_in_flight", np.int64),
    ]
)
"""The message of one end that may still go on (number: -1 where there is none), and what is known of its direction.

padding: bytes that it adds to each record's content; is_sure: whether all its records are its own for sure; n_ends: how
many messages of three records or more ended with END_BYTES; next_place: in lists of sizes; n_alike: how many requests
before it were of one record of the same size, give or take a byte, and usual: that size; held_*: the message before it,
where the two may be one (held_records: 0 where there is none)."""
MESSAGE = record_type(
    [
        ("conn", np.int64),
        ("end", np.int64),
        *_OF_MESSAGE,
    ]
)
"""A message that is over. end: CLIENT or SERVER; number: of the request on the connection, from 0; in_flight: requests
without a response when it was sent, itself included; before_ns: the last byte of the response before it. A row with
number LOST says that responses to what was sent so far (n_records is the number of the next request) may be missing.
"""


class Turns(NamedTuple):
    """turns: TURN by connection; parts: PART, two a connection, the client's first; first_sizes: sizes of first
    records, N_SIZES for each part; split_sizes: the same of messages of several records."""

    turns: NDArray[Any]
    parts: NDArray[Any]
    first_sizes: NDArray[np.int32]
    split_sizes: NDArray[np.int32]
