"""Events from dicts, as recorded files and tests have them."""

from collections.abc import Mapping
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, RANKS
from kafkascope_spark.stories.event_decoder import EventRow


def event_row(row: Mapping[str, Any]) -> EventRow:
    """One row from the columns of `events`, as pyarrow's to_pylist gives them; others may be missing."""
    kind = next(kind for kind in reversed(list(EVENT_CLASSES)) if row.get(kind) is not None)
    event = EVENT_CLASSES[kind].of(row[kind])
    assert isinstance(event, ClientEvent)
    event.conn_id, event.ts_ns = row.get("conn_id", ""), row["ts_ns"]
    if isinstance(event, ErrorRun) and row.get("request") is not None:
        event.request = Request.of(row["request"])
        event.request.conn_id = event.conn_id
    return (row.get("client_ip") or "", row["section"], row["ts_ns"], RANKS[kind]), event
