"""First pass: connections from which a broker does not read for a while, because a quota throttled their client.

A broker sends the response at once, with the throttle time in it, and reads the connection's next request when that
time is over (KIP-219; `Selector.mute`). A request that is sent meanwhile waits for that, and not for the broker to do
its work: the time counts as queued. Brokers before Kafka 2.0 held the response itself back, and muted nothing: there
the response came no sooner than its throttle time.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.apis import int_column
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.kernels import kernel

Longs = NDArray[np.int64]
_NS_PER_MS = 1_000_000
_COLUMN = "queued_ns"


class MutedConnections:
    """The time until which each connection of one bucket is muted. Memory: a number for each connection."""

    def __init__(self) -> None:
        self._until_ns = Growing[np.int64](np.int64)

    def with_muted_time(self, settled: pa.Table) -> pa.Table:
        """Returns completed requests (scan.exchanges.SETTLED_SCHEMA) with `queued_ns` to the end of the throttle time
        of the response before, where that is later."""
        throttle_ns = np.maximum(int_column(settled, "throttle_ms", 0), 0) * _NS_PER_MS
        if not (len(self._until_ns) or throttle_ns.any()):
            return settled
        conn = int_column(settled, "conn", 0)
        self._until_ns.add(np.zeros(max(int(conn.max(initial=-1)) + 1 - len(self._until_ns), 0), np.int64))
        times = [int_column(settled, name, 0) for name in ("request_last_ns", "response_ns")]
        order = np.lexsort((int_column(settled, "number", 0), conn))
        queued_ns = int_column(settled, _COLUMN, 0).copy()
        add_muted_time(order, np.stack([conn, *times, throttle_ns]), queued_ns, self._until_ns.rows)
        is_null = settled[_COLUMN].is_null() if settled[_COLUMN].null_count else None
        mask = None if is_null is None else np.asarray(pc.and_(is_null, pa.array(queued_ns == 0)))
        at = settled.schema.get_field_index(_COLUMN)
        return settled.set_column(at, settled.schema.field(at), pa.array(queued_ns, mask=mask))


@kernel
def add_muted_time(order, requests, queued_ns, until_ns):  # type: ignore[no-untyped-def]
    """Lengthens queued_ns, int64[n], to the end of the time for which each request's connection was muted, and notes
    until when its response mutes it (until_ns, int64[connections]). order: the requests by connection and number;
    requests: int64[4, n], the connection, last byte of the request, first byte of the response (0 without one), and
    throttle time of each."""
    conn, sent_ns, response_ns, throttle_ns = requests
    for i in order:
        until = until_ns[conn[i]]
        if response_ns[i] > 0:
            until = min(until, response_ns[i])
        queued_ns[i] = max(queued_ns[i], until - sent_ns[i])
        if response_ns[i] > 0 and throttle_ns[i] > response_ns[i] - sent_ns[i] - queued_ns[i]:
            until_ns[conn[i]] = response_ns[i] + throttle_ns[i]
