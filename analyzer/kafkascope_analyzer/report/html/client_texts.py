"""Clients in words: the name of each, what is known of it, its first start, and what it met."""

from collections import defaultdict
from typing import Any

from kafkascope_analyzer.report.html.recovery_texts import recoveries_in_short
from kafkascope_analyzer.report.words import clock, count, safe

Row = dict[str, Any]

UNASSIGNED = "unassigned"
"""Kind of the entry for the connections of an address that belong to no client instance."""


def add_client_texts(lanes: Row, starts: list[Row], recoveries: list[Row], start_ns: int) -> None:
    """Adds to each client `name`, `what` (on its lane), `software`, `facts`, `start` with its outcome, and
    `recoveries`.

    lanes: what load_lanes gave; start_ns: the capture's first nanosecond.
    """
    started: dict[str, Row] = {}
    for row in starts:
        started.setdefault(row["client_instance_id"], row)
    met: dict[str, list[Row]] = defaultdict(list)
    for row in recoveries:
        met[row["client_instance_id"]].append(row)
    for client in lanes["clients"]:
        identity = client["client_instance_id"]
        start = started.get(identity)
        client["name"] = client_name(client)
        client["what"] = _what(client)
        client["software"] = _software(client)
        client["facts"] = _facts(client, start_ns)
        client["start"] = None if start is None else start["in_short"]
        client["start_outcome"] = None if start is None else start["outcome"]
        client["recoveries"] = recoveries_in_short(met[identity])


def client_name(client: Row) -> str:
    """The client id, else the principal, else that it has none and its address."""
    named = client.get("client_id") or client.get("principal")
    if named:
        return safe(named)
    place = safe(client["client_ip"] or "?")
    return place if client["kind"] == UNASSIGNED else f"(no client id) {place}"


def _what(client: Row) -> str:
    """The second line of its label: what it is, its connections, its errors."""
    kind = "no client known" if client["kind"] == UNASSIGNED else client["kind"].replace("_", " ")
    errors = f" · {count(client['n_errors'], 'error')}" if client["n_errors"] else ""
    return f"{kind} · {count(len(client['conns']), 'connection')}{errors}"


def _software(client: Row) -> str:
    return " ".join(safe(client[key]) for key in ("software_name", "software_version") if client.get(key))


def _facts(client: Row, start_ns: int) -> list[str]:
    facts = [f"{client['kind'].replace('_', ' ')} at {safe(client['client_ip'] or '?')}", _software(client)]
    if client.get("group_id"):
        protocol = f" ({client['group_protocol']})" if client["group_protocol"] else ""
        facts.append(f"group {safe(client['group_id'])}{protocol}")
    for key, what in (("transactional_id", "transactional id"), ("principal", "principal")):
        if client.get(key):
            facts.append(f"{what} {safe(client[key])}")
    first, last = client["first_ns"] or start_ns, client["last_ns"] or start_ns
    end = f", {client['end'].replace('_', ' ')}" if client.get("end") else ""
    facts.append(f"{clock(first - start_ns)} to {clock(last - start_ns)}{end}")
    facts.append(f"{count(client['n_requests'] or 0, 'request')}, {count(client['n_errors'] or 0, 'error')}")
    if client.get("identity") == "shared":
        why = f": {safe(client['identity_why'])}" if client["identity_why"] else ""
        facts.append(f"may be more than one client object{why}")
    return [fact for fact in facts if fact]
