"""One episode, or one cause with its worst episode, loaded whole: the row, its client, its steps with their packets.

The model is what `explain` and `timeline --recovery` show. Packet numbers are those of the capture file, from 1.
"""

import shlex
from typing import Any

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES, RECOVERY_STEP_ROWS
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS, TCP_EVENTS
from kafkascope_analyzer.report.causes import causes
from kafkascope_analyzer.report.scan import NO_STORIES, has_table, one_of, rows
from kafkascope_parsers.errors import UsageError

Row = dict[str, Any]

SHORTEST_ID = 4
"""Hex digits of an id, with its prefix or without, that may stand for it when no other begins so."""
MOST_ALIKE = 5
"""Ids that are named to who gave the beginning of several."""
_CLIENT = ["client_instance_id", "client_id", "client_ip", "kind", "software_name", "software_version"]
_REQUEST = ["request_id", "api_name", "api_version", "node_id", "ts_ns", "response_ns", "capture_id"]
_REQUEST += ["request_packet_no", "response_packet_no", "server_ip", "server_port", "throttle_ms"]
_SIGNS = {
    "error": ("refused", "rst", "fin", "syn_retry", "syn"),
    "reconnect": ("syn_ack",),
    "retry": ("syn", "syn_retry"),
}
"""Step without a request -> TCP events that show it."""


def episode_model(dataset: Dataset, name: str) -> Row:
    """The episode, or cause, whose id (or its unambiguous beginning) is `name`.

    Keys: start_ns of the capture, cause, recovery (with `steps`), client, files by capture_id, cut. Raises UsageError
    where there are no stories, or no such id, or several.
    """
    if not has_table(dataset, RECOVERIES):
        raise UsageError(f"{dataset}: {NO_STORIES}")
    is_cause, identity = _whole_id(dataset, name)
    cause = causes(dataset, identity)["listed"][0] if is_cause else None
    recovery_id = cause["worst"]["recovery_id"] if cause else identity
    columns = [c.name for c in RECOVERIES.columns if not c.name.endswith("_ts")]
    recovery = next(rows(dataset, RECOVERIES, columns, ds.field("recovery_id") == recovery_id))
    if cause is None and recovery["cause_id"]:
        cause = causes(dataset, recovery["cause_id"])["listed"][0]
    client = next(rows(dataset, CLIENTS, _CLIENT, ds.field("client_instance_id") == recovery["client_instance_id"]), {})
    captures = list(rows(dataset, CAPTURES, ["capture_id", "path", "first_ns"]))
    return {
        "start_ns": min((c["first_ns"] for c in captures if c["first_ns"] is not None), default=0),
        "asked_for": "cause" if is_cause else "recovery",
        "cause": cause,
        "recovery": {**recovery, "steps": _steps(dataset, recovery_id)},
        "client": client,
        "files": {c["capture_id"]: c["path"] for c in captures},
        "cut": f"kafkascope cut {shlex.quote(str(dataset))} --recovery {recovery_id} -o {recovery_id}.pcapng",
    }


def _whole_id(dataset: Dataset, name: str) -> tuple[bool, str]:
    """Whether it is a cause's, and the id that `name` is or begins."""
    recoveries, found_causes = set(), set()
    for row in rows(dataset, RECOVERIES, ["recovery_id", "cause_id"]):
        recoveries.add(row["recovery_id"])
        found_causes.add(row["cause_id"])
    found_causes.discard(None)
    if name in recoveries or name in found_causes:
        return name not in recoveries, name
    alike = sorted(i for i in recoveries | found_causes if _begins(i, name))
    if len(alike) == 1:
        return alike[0] not in recoveries, alike[0]
    if alike:
        some = ", ".join(alike[:MOST_ALIKE]) + (", ..." if len(alike) > MOST_ALIKE else "")
        raise UsageError(f"{dataset}: {name} is ambiguous: {len(alike)} ids begin so ({some}); give more of it")
    some = ", ".join(sorted(recoveries)[:3])
    raise UsageError(
        f"{dataset} has no recovery_id or cause_id {name} (it has {len(recoveries)} episodes, as {some or 'none'}; "
        f"{SHORTEST_ID} hex digits of one are enough where no other begins so); table stories/recoveries has them"
    )


def _begins(identity: str, name: str) -> bool:
    """Whether the name is a beginning of the id, or of its digits, that is long enough to stand for it."""
    prefix, _, digits = name.rpartition("-")
    return len(digits) >= SHORTEST_ID and identity.startswith(name if prefix else (f"rec-{digits}", f"cause-{digits}"))


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
