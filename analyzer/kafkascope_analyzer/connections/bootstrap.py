"""Which connections bootstrapped a client: those it opened before it knew the cluster, and asked about the cluster on.

The Java client numbers its requests over all connections from 0, so its bootstrap connection has the first of them
(NetworkClient.correlation; SASL requests have ids of their own). For others a client is an address and a client id
here, whose life begins anew when all its connections were gone; where several of one name run side by side, a
connection that did nothing but ask about the cluster is claimed to be a bootstrap, not proven.
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.role_rules import BOOTSTRAP_APIS, HANDSHAKE_APIS, is_broker
from kafkascope_parsers.schema import api_keys, api_name

JAVA = "apache-kafka-java"
SASL_IDS_FROM = 0x7FFFFFF8
"""The Java client's correlation ids of SASL requests begin here."""
_FIRST_IDS = 1
"""The ApiVersions request of the bootstrap connection, or the Metadata request that waits for it, has id 0 or 1."""
REQUEST_COLUMNS = ["conn", "number", "ts_ns", "api_key", "correlation_id", "response_last_ns", "client_id"]
REQUEST_COLUMNS += ["software_name"]
_FIRST_REQUESTS = 16
"""Requests of a connection that say whose it is: the least correlation id is among them."""
_ASKING = pa.array([key for key in api_keys() if api_name(key) in BOOTSTRAP_APIS], pa.int16())
_METADATA = next(key for key in api_keys() if api_name(key) == "Metadata")
_HARMLESS = pa.array([key for key in api_keys() if api_name(key) in BOOTSTRAP_APIS | HANDSHAKE_APIS], pa.int16())


@dataclass(slots=True)
class Asker:
    """What bootstrap needs of a connection.

    first_ns, last_ns: segments; asked_ns, last_asked_ns, n_asked, number: first and last request about the cluster,
    how many, and the first one's number on the connection; told_ns: first Metadata answer; first_id: least
    correlation id; only_asked: whether it did nothing else.
    """

    conn_id: str
    client_ip: str
    first_ns: int
    last_ns: int
    seen_from_start: bool
    client_id: str | None = None
    software: str | None = None
    asked_ns: int | None = None
    told_ns: int | None = None
    first_id: int = SASL_IDS_FROM
    only_asked: bool = True
    last_asked_ns: int = 0
    n_asked: int = 0
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What a bootstrap connection was asked about the cluster: requests, first, last, the first one's number."""

    is_proven: bool
    n_asked: int
    first_ns: int
    last_ns: int
    number: int


def note_requests(askers: list[Asker], rows: pa.Table) -> None:
    """Takes a batch of settled requests; askers: by connection number."""
    asked, harmless = pc.is_valid(rows["api_key"]), pc.is_in(rows["api_key"], _HARMLESS)
    for conn in pc.unique(rows["conn"].filter(pc.and_not(asked, harmless))).to_pylist():
        askers[conn].only_asked = False
    first = pc.less(rows["number"], _FIRST_REQUESTS)
    rows = rows.select(REQUEST_COLUMNS).filter(pc.and_(asked, pc.or_(harmless, first)))
    ids = rows["correlation_id"]
    own = pc.and_(pc.greater_equal(ids, 0), pc.less(ids, SASL_IDS_FROM))
    asking = pc.is_in(rows["api_key"], _ASKING)
    answered = pc.equal(rows["api_key"], _METADATA)
    columns = {
        "conn": rows["conn"],
        "id": pc.if_else(own, ids, None),
        "asked": pc.if_else(asking, rows["ts_ns"], None),
        "number": pc.if_else(asking, rows["number"], None),
        "told": pc.if_else(answered, rows["response_last_ns"], None),
        "client_id": rows["client_id"],
        "software": rows["software_name"],
    }
    sums = [
        ("id", "min"),
        ("asked", "min"),
        ("asked", "max"),
        ("asked", "count"),
        ("number", "min"),
        ("told", "min"),
        ("client_id", "first"),
        ("software", "first"),
    ]
    grouped = pa.table(columns).group_by(["conn"], use_threads=False).aggregate(sums)
    for row in grouped.to_pylist():
        _note(askers[row["conn"]], row)


def _note(asker: Asker, row: dict[str, Any]) -> None:
    asker.first_id = asker.first_id if row["id_min"] is None else min(asker.first_id, row["id_min"])
    asker.asked_ns = _earlier(asker.asked_ns, row["asked_min"])
    asker.told_ns = _earlier(asker.told_ns, row["told_min"])
    asker.last_asked_ns = max(asker.last_asked_ns, row["asked_max"] or 0)
    asker.n_asked += row["asked_count"]
    asker.number = _earlier(asker.number, row["number_min"])
    asker.client_id = asker.client_id if asker.client_id is not None else row["client_id_first"]
    asker.software = asker.software or row["software_first"]


def _earlier(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def bootstraps(askers: list[Asker]) -> dict[str, Bootstrap]:
    """What the connections that bootstrapped a client were asked, by conn_id."""
    proven = bootstrap_connections(askers)
    return {
        a.conn_id: Bootstrap(proven[a.conn_id], a.n_asked, a.asked_ns, a.last_asked_ns, a.number or 0)
        for a in askers
        if a.conn_id in proven and a.asked_ns is not None
    }


def bootstrap_connections(askers: list[Asker]) -> dict[str, bool]:
    """conn_id of the connections that bootstrapped a client, and whether that is proven."""
    clients: dict[tuple[str, str | None], list[Asker]] = {}
    for asker in sorted(askers, key=lambda a: (a.first_ns, a.conn_id)):
        if not is_broker(asker.client_id):
            clients.setdefault((asker.client_ip, asker.client_id), []).append(asker)
    found: dict[str, bool] = {}
    for members in clients.values():
        is_java = any(asker.software == JAVA for asker in members)
        found |= _of_java(members) if is_java else _of_others(members)
    return found


def _of_java(members: list[Asker]) -> dict[str, bool]:
    return {
        a.conn_id: True for a in members if a.seen_from_start and a.asked_ns is not None and a.first_id <= _FIRST_IDS
    }


def _of_others(members: list[Asker]) -> dict[str, bool]:
    found = {}
    alive_until, told_ns = 0, None
    for asker in members:
        if asker.first_ns > alive_until:
            told_ns = None
        alive_until = max(alive_until, asker.last_ns)
        if asker.asked_ns is not None and asker.seen_from_start:
            before = told_ns is None or asker.first_ns < told_ns
            if before or asker.only_asked:
                found[asker.conn_id] = before
        told_ns = _earlier(told_ns, asker.told_ns)
    return found
