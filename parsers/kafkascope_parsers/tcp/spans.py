"""Stretches of time on a connection in which a side sent packets, or waited for the other side.

Both are kept at two layers: packets (any segment) and payload (segments with bytes of the application). They show,
without decoding, in which state a host was for its peers: silent (no packet while a peer waits for one), or frozen (its
kernel acknowledges, but no payload comes).
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type

PACKETS, PAYLOAD = 0, 1
"""Layers."""

RUN, WAIT = 0, 2
"""Kinds of spans, to which the layer is added: a run of packets of a side, a wait of a side for the other."""

ACKED = 4
"""A further kind of spans: how soon segments that a side sent in a slice of time were acknowledged."""

SLICE_NS = 2_000_000_000
"""Length of these slices of time."""

RUN_GAP_NS = 1_000_000_000
"""A pause of a side that ends a run. Shorter pauses are usual: a consumer polls for 500 ms."""

WAIT_NS = (220_000_000, 1_000_000_000)
"""Shortest waits that become spans, by layer. Kernels delay an acknowledgment for 200 ms at most (Linux and Windows;
BSD 100 ms), and their timers are a few milliseconds late."""

UNACKNOWLEDGED_NS = 500_000_000
"""A receiver may delay an acknowledgment for this long (RFC 9293), so before that it is not missing."""

ENDED_BY = ("open", "ack", "data", "syn_ack", "fin", "rst", "hidden", "gave_up")
BY_NOTHING, BY_ACK, BY_DATA, BY_SYN_ACK, BY_FIN, BY_RST, BY_HIDDEN, BY_GIVING_UP = range(len(ENDED_BY))
"""The end of a wait: nothing until the end of the capture; a packet of the other side; an acknowledgment by the waiting
side of a packet that the capture lacks; or the FIN or RST of the waiting side itself."""

SPANS_PER_SEGMENT = 10
"""Most spans that one segment can end: the runs and waits of both sides, at both layers, and a slice of each side."""

LIVENESS = record_type(
    [
        ("first_ns", np.int64),
        ("first_packet", np.int64),
        ("last_ns", np.int64),
        ("last_packet", np.int64),
        ("asked_ns", np.int64),
        ("asked_packet", np.int64),
        ("asked_last_ns", np.int64),
        ("asked_last_packet", np.int64),
        ("n_quick", np.int64),
        ("high_seq", np.uint32),
        ("last_ack", np.uint32),
        ("based", np.uint8),
        ("has_ack", np.uint8),
        ("syn", np.uint8),
    ],
)
"""The state of one direction at one layer (row 2 * direction + layer), named after the sender.

first_*, last_*   the current run of its packets; last_packet 0: it has sent nothing
asked_*, asked_last_*   first and last segment of the current wait for the other side; asked_packet 0: it does not wait
n_quick   waits that have ended since the last one that became a span
high_seq, based   the sequence number after the highest one sent, and whether it is known (row of PACKETS)
last_ack, has_ack, syn   the last acknowledgment number, whether there was one, whether a SYN was sent (row of PACKETS)
"""

ACK_TIMES = record_type(
    [
        ("asked_ns", np.int64),
        ("asked_packet", np.int64),
        ("first_ns", np.int64),
        ("first_packet", np.int64),
        ("last_ns", np.int64),
        ("last_packet", np.int64),
        ("n", np.int64),
        ("least_ns", np.int64),
        ("most_ns", np.int64),
        ("behind", np.uint32),
    ],
)
"""The state of one direction: how soon the other side acknowledged its segments in the current slice of time.

asked_*, behind   the segment whose acknowledgment is awaited, and the sequence number behind it; asked_packet 0: none
first_*, last_*   the first such segment of the slice, the last acknowledgment
n, least_ns       how many were acknowledged; the shortest time that took
most_ns           the longest time of an acknowledgment without payload; 0 where there was none
"""

SPAN = record_type(
    [
        ("direction", np.int64),
        ("first_ns", np.int64),
        ("first_packet", np.int64),
        ("last_ns", np.int64),
        ("last_packet", np.int64),
        ("until_ns", np.int64),
        ("until_packet", np.int64),
        ("n_quick", np.int64),
        ("least_ns", np.int64),
        ("most_ns", np.int64),
        ("kind", np.uint8),
        ("ended_by", np.uint8),
    ],
)
"""A run or a wait of one direction, or a slice of ACK_TIMES.

first_*, last_*   its first and last packet: of a wait, the first that asks for something and the last so far
until_*, ended_by   of a wait: the packet that ended it, and its kind; 0 if nothing did
n_quick   of a wait: those before it, back to the last long one, that were too short to become spans; of a slice: n
least_ns, most_ns   of a slice, see ACK_TIMES
"""


def open_spans(liveness: NDArray[np.void], ack_times: NDArray[np.void], direction: int) -> NDArray[np.void]:
    """The runs and waits that are open at the end of the capture, by direction, layer and kind, and the last slice of
    each direction. liveness: LIVENESS; ack_times: ACK_TIMES; direction: that of the first rows."""
    rows = np.arange(len(liveness))
    parts = []
    for kind, packet, first, last in (
        (RUN, "last_packet", "first", "last"),
        (WAIT, "asked_packet", "asked", "asked_last"),
    ):
        is_open = liveness[packet] > 0
        spans = np.zeros(int(is_open.sum()), SPAN)
        chosen = liveness.compress(is_open)
        spans["direction"], spans["kind"] = rows[is_open] >> 1, kind + (rows[is_open] & 1)
        for unit in ("ns", "packet"):
            spans[f"first_{unit}"], spans[f"last_{unit}"] = chosen[f"{first}_{unit}"], chosen[f"{last}_{unit}"]
        spans["n_quick"] = chosen["n_quick"] if kind == WAIT else 0
        parts.append(spans)
    spans = np.concatenate([*parts, _last_slices(ack_times)])
    spans["direction"] += direction
    return spans


def _last_slices(ack_times: NDArray[np.void]) -> NDArray[np.void]:
    kept = np.flatnonzero(ack_times["n"])
    spans = np.zeros(len(kept), SPAN)
    spans["direction"], spans["kind"], spans["n_quick"] = kept, ACKED, ack_times["n"][kept]
    for name in ("first_ns", "first_packet", "last_ns", "last_packet", "least_ns", "most_ns"):
        spans[name] = ack_times[name][kept]
    return spans
