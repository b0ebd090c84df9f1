"""Spilled rows of TCP's runs and waits: when each side of a connection sent packets, and when it waited."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.tcp.spans import ACKED, UNACKNOWLEDGED_NS, WAIT

RUNS, WAITS, ACK_TIMES = "facts.runs", "facts.waits", "facts.ack_times"
"""Spilled tables: runs of packets of the sides of connections, waits of one side for the other, and, by slices of time,
how soon the packets of a side were acknowledged."""
RUN_COLUMNS = ("first_ns", "first_packet", "last_ns", "last_packet")
ACK_TIME_COLUMNS = (*RUN_COLUMNS, "n_quick", "least_ns", "most_ns")
_WAIT_COLUMNS = (*RUN_COLUMNS, "until_ns", "until_packet", "ended_by", "n_quick")


def spill_spans(spill: Spill, spans: NDArray[np.void]) -> None:
    """Spills rows of tcp.spans.SPAN: with conn, the number of the connection in the bucket, side (the side that sent,
    or that waits) and layer."""
    acked, runs = spans["kind"] == ACKED, spans["kind"] < WAIT
    spill.gather(RUNS, _rows(spans.compress(runs), RUN_COLUMNS))
    spill.gather(WAITS, _rows(spans.compress(~runs & ~acked), _WAIT_COLUMNS))
    spill.gather(ACK_TIMES, _rows(spans.compress(acked), ACK_TIME_COLUMNS))


def is_unacknowledged(waits: pa.Table) -> NDArray[np.bool_]:
    """Whether each wait took longer than a receiver may delay an acknowledgment. waits: rows of WAITS."""
    asked, until = (waits[name].to_numpy() for name in ("first_ns", "until_ns"))
    return np.asarray((until == 0) | (until - asked >= UNACKNOWLEDGED_NS))


def _rows(spans: NDArray[np.void], names: tuple[str, ...]) -> pa.Table:
    columns = {
        "conn": spans["direction"] >> 1,
        "side": (spans["direction"] & 1).astype(np.int8),
        "layer": (spans["kind"] & 1).astype(np.int8),
        **{name: np.ascontiguousarray(spans[name]) for name in names},
    }
    return pa.table({name: pa.array(values) for name, values in columns.items()})
