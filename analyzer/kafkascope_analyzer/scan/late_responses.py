"""Picks the requests whose response came late, or never, during the scan.

A response is late half a second after the time that its request allows: a broker may delay a Fetch for max_wait_ms, and
serves a request only after the response to the previous one on the connection was sent. JoinGroup and SyncGroup wait
for other members as long as the group's timeouts allow, so they are never late.
"""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.scan.apis import PROMPT_APIS, ApiSet, int_column
from kafkascope_parsers.api_keys import HANDSHAKE_APIS, JOIN_GROUP, SYNC_GROUP

LATE_RESPONSES = "facts.late_responses"
"""Spilled table: LATE_COLUMNS of the late responses."""
LATE_NS = 500_000_000
_NS_PER_MS = 1_000_000
_WAITS_FOR_MEMBERS = ApiSet({JOIN_GROUP, SYNC_GROUP})
_ALONE = ApiSet(PROMPT_APIS | HANDSHAKE_APIS)
"""APIs that a broker answers without another broker, and no later than the request allows."""
_ASKED = [REQUEST_STATUSES.index(name) for name in ("ok", "unanswered", "undecoded")]
_LATE = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("api_key", pa.int16()),
        ("sent_ns", pa.int64()),
        ("due_ns", pa.int64()),
        ("request_packet_no", pa.int64()),
        ("response_ns", pa.int64()),
        ("response_packet_no", pa.int64()),
        ("is_alone", pa.bool_()),
    ]
)
LATE_COLUMNS = _LATE.names
"""conn, number; sent_ns: last byte of the request; due_ns: when the response was due at the latest; the packets;
response_ns: null where none came; is_alone: the broker could have answered by itself, no earlier request of the
connection was open, and no quota delayed it."""


def pick_late_responses(settled: pa.Table) -> pa.Table | None:
    """Returns the completed requests (scan.exchanges.SETTLED_SCHEMA) whose response was late (LATE_COLUMNS)."""
    sent = int_column(settled, "request_last_ns", 0)
    due = sent + int_column(settled, "queued_ns", 0) + np.maximum(int_column(settled, "max_wait_ms", 0), 0) * _NS_PER_MS
    answered = int_column(settled, "response_ns", 0)
    is_late = ((answered == 0) | (answered - due >= LATE_NS)) & np.isin(int_column(settled, "status", -1), _ASKED)
    rows = np.flatnonzero(is_late)
    if not len(rows):
        return None
    api_key = int_column(settled, "api_key", -1)[rows]
    kept = ~_WAITS_FOR_MEMBERS.has(api_key) & (api_key >= 0)
    rows, api_key = rows[kept], api_key[kept]
    chosen = settled.take(pa.array(rows))
    columns = {name: chosen[name] for name in LATE_COLUMNS if name in chosen.column_names}
    columns["sent_ns"], columns["due_ns"] = chosen["request_last_ns"], pa.array(due[rows])
    is_first = (int_column(chosen, "in_flight", 0) <= 1) & (int_column(chosen, "throttle_ms", 0) <= 0)
    columns["is_alone"] = pa.array(_ALONE.has(api_key) & is_first)
    return pa.table([columns[name] for name in LATE_COLUMNS], _LATE)
