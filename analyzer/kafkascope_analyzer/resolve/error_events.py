"""Events of the kind error_run: the error codes in answers."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.resolve.apis import int_column
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import EventPlace, client_events, flat, rank_in_group
from kafkascope_analyzer.resolve.event_source import MessageReader

_OWN = ("request_id", "api_key", "error_name", "topic", "partition", "group_id", "transactional_id", "resource")
_ORDER = ("conn", "ts_ns", "packet_no", "number", "where", "resource")


class ErrorEvents:
    """Makes events of the kind error_run."""

    def __init__(self, context: BucketContext) -> None:
        pass

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """One row per error code."""
        rows = rows.filter(pc.not_equal(rows["error_code"], 0))
        if rows.num_rows:
            yield error_events(rows)

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Needs none."""
        yield from ()

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Needs none."""
        yield from ()

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Nothing is left."""
        yield from ()


def error_events(rows: pa.Table) -> pa.Table:
    """Rows of `errors`, with sent_ns (first byte of the request), as runs of one."""
    rows = rows.sort_by([(name, "ascending") for name in _ORDER])
    seq = rank_in_group(*(int_column(rows, name, 0) for name in ("conn", "ts_ns", "packet_no")))
    ts_ns, sent_ns = int_column(rows, "ts_ns", 0), int_column(rows, "sent_ns", 0)
    place = EventPlace(rows["client_ip"], rows["conn_id"], rows["ts_ns"], rows["packet_no"], pa.array(seq))
    body = {name: rows[name] for name in _OWN} | {
        "last_request_id": rows["request_id"],
        "n": pa.array(np.ones(rows.num_rows, np.int64)),
        "last_ns": rows["ts_ns"],
        "last_sent_ns": pa.array(sent_ns),
        "waited_us": pa.array((ts_ns - sent_ns) // 1000),
    }
    return client_events("error_run", place, {name: flat(values) for name, values in body.items()})
