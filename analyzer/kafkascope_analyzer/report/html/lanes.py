"""The timeline's lanes: client instances, and under each its connections with their roles, marks and ends.

A connection that no client instance has (no stories, or too little seen of it) comes under its client's address.
"""

from collections import Counter, defaultdict
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ROLE_ROWS, TCP_EVENTS
from kafkascope_analyzer.report.api_families import role_family_number
from kafkascope_analyzer.report.words import address

MOST_LANES = 10_000
"""Connections with a lane; those with most requests and errors, where there are more."""
MOST_SUBJECTS = 3
MOST_EVENTS = 20_000
EVENTS = ("syn_retry", "refused", "rst", "fin", "zero_window", "gap")

Row = dict[str, Any]

_CONNECTION = ["conn_id", "client_ip", "client_port", "server_ip", "server_port", "node_id", "protocol", "first_ns"]
_CONNECTION += ["last_ns", "close_kind", "close_ns", "primary_role", "sasl_mechanism", "principal", "tls_version"]
_CONNECTION += ["n_requests", "n_errors", "max_in_flight", "missing_bytes", "undecoded_bytes", "idle_before_close_ms"]
_CONNECTION += ["opened_by", "client_ids"]
_CLIENT = ["client_instance_id", "client_id", "client_ip", "kind", "software_name", "software_version", "principal"]
_CLIENT += ["group_protocol", "group_id", "group_instance_id", "transactional_id", "transactions", "identity"]
_CLIENT += ["identity_why", "end", "first_ns", "last_ns", "n_requests", "n_errors", "conn_ids"]


def load_lanes(dataset: Dataset) -> Row:
    """`clients` (with `conns`: places in the other list), `connections`, how many connections there are in all.

    Clients come by the time they were first seen, brokers after all others; connections by their client and time.
    """
    found, n_all = _connections(dataset)
    owners = list(rows(dataset, CLIENTS, _CLIENT))
    owners.sort(key=lambda c: (c["kind"] == "broker", c["first_ns"] or 0, c["client_instance_id"]))
    clients = [client for owner in owners if (client := _with_conns(owner, found)) is not None]
    clients += _strays({c for client in clients for c in client["conn_ids"]}, found)
    listed: list[Row] = []
    for number, client in enumerate(clients):
        mine = [found[c] for c in client.pop("conn_ids")]
        client["n_connections"] = client.get("n_connections") or len(mine)
        client["conns"] = list(range(len(listed), len(listed) + len(mine)))
        for connection in mine:
            connection["client"] = number
        listed += mine
    _add_roles(dataset, listed)
    return {"clients": clients, "connections": listed, "n_connections": n_all, "events": _events(dataset, listed)}


def _connections(dataset: Dataset) -> tuple[dict[str, Row], int]:
    """The connections that get a lane, by conn_id, and how many there are."""
    kept: list[Row] = []
    n_all = 0
    for row in rows(dataset, CONNECTIONS, _CONNECTION):
        n_all += 1
        row["from"] = address(row["client_ip"], row.pop("client_port"))
        row["to"] = address(row.pop("server_ip"), row.pop("server_port"))
        kept.append(row)
        if len(kept) > 2 * MOST_LANES:
            kept = _weightiest(kept)
    return {row["conn_id"]: row for row in _weightiest(kept)}, n_all


def _weightiest(kept: list[Row]) -> list[Row]:
    def weight(row: Row) -> tuple[int, int, str]:
        return -(row["n_errors"] or 0), -(row["n_requests"] or 0), row["conn_id"]

    return sorted(kept, key=weight)[:MOST_LANES] if len(kept) > MOST_LANES else kept


def _with_conns(owner: Row, found: dict[str, Row]) -> Row | None:
    """The client with those of its connections that have a lane; None without any."""
    conn_ids = owner["conn_ids"] or []
    mine = sorted((c for c in conn_ids if c in found), key=lambda c: (found[c]["first_ns"] or 0, c))
    return {**owner, "conn_ids": mine, "n_connections": len(conn_ids)} if mine else None


def _strays(placed: set[str], found: dict[str, Row]) -> list[Row]:
    """A client for each address that has connections without one."""
    by_ip: dict[str, list[str]] = defaultdict(list)
    for conn_id, row in found.items():
        if conn_id not in placed:
            by_ip[row["client_ip"] or "?"].append(conn_id)
    strays = []
    for ip, conn_ids in sorted(by_ip.items()):
        conn_ids.sort(key=lambda c: (found[c]["first_ns"] or 0, c))
        mine = [found[c] for c in conn_ids]
        names = Counter(name for row in mine for name in row["client_ids"] or ())
        strays.append(
            {
                "client_instance_id": f"address {ip}",
                "client_id": min(names, key=lambda n: (-names[n], n)) if len(names) == 1 else None,
                "client_ip": ip,
                "kind": "unassigned",
                "first_ns": min(row["first_ns"] or 0 for row in mine),
                "last_ns": max(row["last_ns"] or 0 for row in mine),
                "n_requests": sum(row["n_requests"] or 0 for row in mine),
                "n_errors": sum(row["n_errors"] or 0 for row in mine),
                "conn_ids": conn_ids,
            }
        )
    return strays


def _add_roles(dataset: Dataset, listed: list[Row]) -> None:
    """roles: what each connection did, for what, how sure, since when."""
    by_id = {row["conn_id"]: row for row in listed}
    for row in listed:
        row["roles"] = []
        row["client_ids"] = (row["client_ids"] or [])[:MOST_SUBJECTS]
    jobs: dict[tuple[str, str, str], Row] = {}
    columns = ["conn_id", "role", "subject", "verdict", "first_ns", "last_ns"]
    for row in rows(dataset, ROLE_ROWS, columns):
        if row["conn_id"] not in by_id:
            continue
        key = row["conn_id"], row["role"], row["verdict"] or "claimed"
        job = jobs.setdefault(key, {"role": key[1], "verdict": key[2], "subjects": [], "n": 0, "first_ns": None})
        job["n"] += 1
        job["subjects"] = sorted({*job["subjects"], *([row["subject"]] if row["subject"] else [])})[:MOST_SUBJECTS]
        job["first_ns"] = min((t for t in (job["first_ns"], row["first_ns"]) if t is not None), default=None)
        job["last_ns"] = max((t for t in (job.get("last_ns"), row["last_ns"]) if t is not None), default=None)
    for key, job in sorted(jobs.items(), key=lambda item: (item[0][0], item[1]["first_ns"] or 0, item[0])):
        by_id[key[0]]["roles"].append({**job, "family": role_family_number(job["role"])})
    for row in listed:
        row["family"] = role_family_number(row["primary_role"]) if row["primary_role"] else None


def _events(dataset: Dataset, listed: list[Row]) -> dict[str, list[Any]]:
    """What TCP did on the lanes, as columns in the order of the lanes."""
    place = {row["conn_id"]: number for number, row in enumerate(listed)}
    found: list[list[Any]] = []
    columns = ["conn_id", "ts_ns", "event", "side", "packet_no"]
    for row in rows(dataset, TCP_EVENTS, columns, one_of("event", list(EVENTS))):
        if row["conn_id"] in place:
            found.append([place[row["conn_id"]], row["ts_ns"], row["event"], row["side"], row["packet_no"]])
        if len(found) > 2 * MOST_EVENTS:
            found = _weightiest_events(found)
    found = sorted(_weightiest_events(found), key=lambda event: (event[0], event[1], event[2], event[4] or 0))
    names = ("conn", "at_ns", "event", "side", "packet_no")
    return {name: [event[n] for event in found] for n, name in enumerate(names)}


def _weightiest_events(found: list[list[Any]]) -> list[list[Any]]:
    """Where there are too many: resets and refusals before the ordinary ones."""
    weight = {"refused": 0, "rst": 1, "gap": 2, "zero_window": 3, "fin": 4, "syn_retry": 5}
    if len(found) <= MOST_EVENTS:
        return found
    return sorted(found, key=lambda event: (weight[event[2]], event[1], event[0]))[:MOST_EVENTS]
