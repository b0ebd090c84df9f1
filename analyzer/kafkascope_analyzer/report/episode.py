"""One recovery, loaded whole: the row, its client, its steps with their packets.

The model is what `explain` and `timeline --recovery` show. Packet numbers are those of the capture file, from 1.
"""

from typing import Any

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES, RECOVERY_STEP_ROWS
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS, TCP_EVENTS

Row = dict[str, Any]

_CLIENT = ["client_instance_id", "client_id", "client_ip", "kind", "software_name", "software_version"]
_REQUEST = ["request_id", "api_name", "api_version", "node_id", "ts_ns", "response_ns", "capture_id"]
_REQUEST += ["request_packet_no", "response_packet_no", "server_ip", "server_port", "throttle_ms"]
_SIGNS = {
    "error": ("refused", "rst", "fin", "syn_retry", "syn"),
    "reconnect": ("syn_ack",),
    "retry": ("syn", "syn_retry"),
}
"""Step without a request -> TCP events that show it."""


def episode_model(dataset: Dataset, recovery_id: str) -> Row:
    """The episode. Keys: start_ns of the capture, recovery (with `steps`), client, files by capture_id."""
    columns = [c.name for c in RECOVERIES.columns if not c.name.endswith("_ts")]
    recovery = next(rows(dataset, RECOVERIES, columns, ds.field("recovery_id") == recovery_id))
    client = next(rows(dataset, CLIENTS, _CLIENT, ds.field("client_instance_id") == recovery["client_instance_id"]), {})
    captures = list(rows(dataset, CAPTURES, ["capture_id", "path", "first_ns"]))
    return {
        "start_ns": min((c["first_ns"] for c in captures if c["first_ns"] is not None), default=0),
        "recovery": {**recovery, "steps": _steps(dataset, recovery_id)},
        "client": client,
        "files": {c["capture_id"]: c["path"] for c in captures},
    }


def _steps(dataset: Dataset, recovery_id: str) -> list[Row]:
    """The steps in order, each with request, packets (first and last), capture_id, server."""
    columns = [c.name for c in RECOVERY_STEP_ROWS.columns if c.name not in ("ts", "recovery_id")]
    found = list(rows(dataset, RECOVERY_STEP_ROWS, columns, ds.field("recovery_id") == recovery_id))
    found.sort(key=lambda step: step["seq"] or 0)
    ids = sorted({s["request_id"] for s in found if s["request_id"]})
    requests = {row["request_id"]: row for row in rows(dataset, REQUESTS, _REQUEST, one_of("request_id", ids))}
    conns = sorted({s["conn_id"] for s in found if s["conn_id"]})
    names = ["conn_id", "server_ip", "server_port", "close_kind"]
    servers = {row["conn_id"]: row for row in rows(dataset, CONNECTIONS, names, one_of("conn_id", conns))}
    events: dict[str, list[Row]] = {}
    columns = ["conn_id", "ts_ns", "event", "packet_no", "capture_id"]
    for row in rows(dataset, TCP_EVENTS, columns, one_of("conn_id", conns)):
        events.setdefault(row["conn_id"], []).append(row)
    for step in found:
        step["request"] = requests.get(step["request_id"])
        server = servers.get(step["conn_id"], {})
        step["server"] = f"{server['server_ip']}:{server['server_port']}" if server else None
        step["packets"], step["capture_id"] = _packets(step, events.get(step["conn_id"], []))
    return found


def _packets(step: Row, events: list[Row]) -> tuple[list[int], int | None]:
    """The numbers of the packets that show the step, and their file."""
    request = step["request"]
    is_closing = step["step"] == "error" and (step["error_name"] or "").startswith("CONNECTION_")
    numbers, capture_id = [], None
    if request is not None and not is_closing:
        sent_only = step["step"] == "retry"
        found = [request["request_packet_no"], None if sent_only else request["response_packet_no"]]
        numbers, capture_id = [n for n in found if n is not None], request["capture_id"]
    elif step["ts_ns"] is not None:
        kinds = _SIGNS.get(step["step"], ())
        near = [e for e in events if e["event"] in kinds and e["packet_no"] is not None]
        if near:
            sign = min(near, key=lambda e: (abs(e["ts_ns"] - step["ts_ns"]), kinds.index(e["event"])))
            numbers, capture_id = [sign["packet_no"]], sign["capture_id"]
    return numbers, capture_id
