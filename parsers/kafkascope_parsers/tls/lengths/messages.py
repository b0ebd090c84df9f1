"""The rows that the kernels of this package share: the state of a TLS connection that cannot be decrypted, and of its
messages."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type

CLIENT, SERVER = 0, 1
SPLIT = -1
"""Instead of a size, for a message of several records."""
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
"""A connection. client_side: -1 if it is not read; has_hellos: whether both are known; handshake: whether
encrypted handshake messages of TLS 1.3 are still to come, and then hash_bytes is the size of a hash; n_tickets: tickets
of the server to come, which look like data; overhead: of each record's body; n_sent, n_answered: requests and responses
that began; n_open_before: requests without a response when the server's last record came; last_end: who sent the last
record; first_*: bytes of the first exchange, SPLIT where its response is of several records; offers_alpn: whether the
client offers application protocols, as web clients do; n_since: requests since the server's last record; pause_ns: how
long neither side had sent before the first of them; n_alternating: number of responses in a row that came soon after
the only request since the response before, with others still open; *_pause_ns: of the pauses between these."""
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
"""The fields of a message, whether it is complete or not; see MESSAGE."""
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
"""The unfinished message of one end (number: -1 if there is none), and the state of its direction.

padding: bytes that it adds to each record's content; is_sure: whether all its records certainly belong to it; n_ends:
number of messages of three records or more that ended with END_BYTES; next_place: in lists of sizes; n_alike: number of
requests before it of one record of the same size, plus or minus a byte, and usual: that size; held_*: the message
before it, if the two may be one (held_records: 0 if there is none)."""
MESSAGE = record_type(
    [
        ("conn", np.int64),
        ("end", np.int64),
        *_OF_MESSAGE,
    ]
)
"""A complete message. end: CLIENT or SERVER; number: of the request on the connection, from 0; in_flight: requests
without a response when it was sent, itself included; before_ns: the last byte of the response before it. A row with
number LOST means that responses to the requests so far (n_records is the number of the next request) may be missing.
"""


class Turns(NamedTuple):
    """turns: TURN by connection; parts: PART, two a connection, the client's first; first_sizes: sizes of first
    records, N_SIZES for each part; split_sizes: the same of messages of several records."""

    turns: NDArray[Any]
    parts: NDArray[Any]
    first_sizes: NDArray[np.int32]
    split_sizes: NDArray[np.int32]
