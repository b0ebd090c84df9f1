"""Selects connections, and windows of time on them, from a dataset.

A scope maps conn_id to windows [(start_ns, end_ns), …]; ALL_TIME stands for the whole connection. The results for
several values of one kind are united, those of several kinds are intersected.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.cut.flows import parse_endpoint
from kafkascope_analyzer.cut.selection import Selection
from kafkascope_analyzer.cut.stories import of_finding, of_incident, of_recovery, of_stall, of_startup
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import read, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.formatting import list_of, safe
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import CLIENTS

ALL_TIME = (-(1 << 62), 1 << 62)
MOST_CONNECTIONS = 250_000
"""Most connections of one piece: some 100 bytes of memory each, and more than anyone opens in Wireshark."""

Window = tuple[int, int]
Scope = dict[str, list[Window]]


def connection_scope(dataset: Dataset, selection: Selection) -> Scope | None:
    """Returns the scope that clients, connections and stories select; None where none is named. Raises UsageError where
    a name is not in the dataset."""
    scope: Scope | None = None
    for names, find in (
        (selection.clients, _of_client),
        (selection.connections, _of_connection),
        (selection.findings, of_finding),
        (selection.recoveries, of_recovery),
        (selection.startups, of_startup),
        (selection.incidents, of_incident),
        (selection.stalls, of_stall),
    ):
        if names:
            union: Scope = {}
            for name in names:
                for conn_id, windows in find(dataset, name).items():
                    union.setdefault(conn_id, []).extend(windows)
            scope = union if scope is None else intersected(scope, union)
    return scope


def intersected(one: Scope, other: Scope) -> Scope:
    """Returns the intersection of two scopes."""
    both: Scope = {}
    for conn_id in one.keys() & other.keys():
        windows = [
            (max(a[0], b[0]), min(a[1], b[1])) for a in one[conn_id] for b in other[conn_id] if a[0] <= b[1] >= b[0]
        ]
        windows = [window for window in windows if window[0] <= window[1]]
        if windows:
            both[conn_id] = windows
    return both


def overlapping(dataset: Dataset, window: Window) -> Scope:
    """Returns the connections that have a segment around the window."""
    inside = (ds.field("first_ns") <= window[1]) & (ds.field("last_ns") >= window[0])
    return _whole(conn_ids(scan(dataset, CONNECTIONS, ["conn_id"], inside)))


def conn_ids(batches: Iterable[pa.RecordBatch]) -> list[str]:
    """Returns the conn_ids of batches. Raises UsageError beyond MOST_CONNECTIONS."""
    found: list[str] = []
    for batch in batches:
        found += batch.column("conn_id").to_pylist()
        if len(found) > MOST_CONNECTIONS:
            raise UsageError(f"the selection takes more than {MOST_CONNECTIONS:,} connections; narrow it")
    return found


@dataclass(frozen=True, slots=True)
class _Client(Row):
    TABLE: ClassVar[Table] = CLIENTS
    conn_ids: tuple[str, ...]


def _whole(ids: Iterable[str]) -> Scope:
    return {conn_id: [ALL_TIME] for conn_id in ids}


def _of_client(dataset: Dataset, name: str) -> Scope:
    """Returns the scope of a client instance by its id, or of every connection with that client id."""
    found: list[str] = []
    for client in read(dataset, _Client, ds.field("client_instance_id") == name):
        found += client.conn_ids
    if not found:
        batches = scan(dataset, CONNECTIONS, ["conn_id", "client_ids"])
        found = conn_ids(batch.filter(_lists_with(batch.column("client_ids"), name)) for batch in batches)
    if not found:
        names: set[str] = set()
        for batch in scan(dataset, CONNECTIONS, ["client_ids"]):
            names.update(n for n in pc.unique(pc.list_flatten(batch.column("client_ids"))).to_pylist() if n)
        near = did_you_mean(name, sorted(names))
        raise UsageError(f"--client {name}: no such client id or client instance{near}{there_are(names)}")
    return _whole(found)


def _lists_with(lists: pa.Array, wanted: str) -> pa.Array:
    """Returns a mask of the lists that contain the string."""
    holders = pc.list_parent_indices(lists).filter(pc.equal(pc.list_flatten(lists), wanted))
    return pc.is_in(pa.array(range(len(lists)), pa.int64()), holders.cast(pa.int64()))


def there_are(names: Iterable[str]) -> str:
    """Returns the end of an error's sentence, which lists the names that exist."""
    known = sorted(safe(name) for name in names)
    return f"; there are {list_of(known, 8)}" if known else "; the dataset has none"


def _of_connection(dataset: Dataset, name: str) -> Scope:
    """Returns the scope of a conn_id, or of an address (ip, ip:port, :port) of either end."""
    endpoint = parse_endpoint(name)
    if endpoint is None:
        only = ds.field("conn_id") == name
    else:
        sides = []
        for side in ("client", "server"):
            parts = [(f"{side}_ip", endpoint.ip), (f"{side}_port", endpoint.port)]
            tests = [ds.field(column) == value for column, value in parts if value is not None]
            sides.append(tests[0] if len(tests) == 1 else tests[0] & tests[1])
        only = sides[0] | sides[1]
    found = conn_ids(scan(dataset, CONNECTIONS, ["conn_id"], only))
    if not found:
        raise UsageError(f"--connection {name}: no such connection; give a conn_id, ip:port, ip or :port")
    return _whole(found)
