"""Finds the group that reads on each connection. A client is a member of a group if it commits, joins or sends
heartbeats for that group on its connections to the coordinator.

Each bucket has spilled the client ids of connections that fetch, and of connections with requests for a group
(scan.group_clients). Between the passes both are joined by the address and client id of the client.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.group_clients import CONSUMERS, GROUP_CLIENTS
from kafkascope_analyzer.scan.spill import read_spill

_CLIENT = ["client_ip", "client_id"]
_NO_ROWS = pa.table(
    {"conn": pa.array([], pa.int64())} | {name: pa.array([], pa.string()) for name in (*_CLIENT, "group_id")}
)
_NO_GROUP = -1


def readers(connections: Mapping[Path, pa.Table]) -> NDArray[np.int64]:
    """Returns a number for the reader on each connection of all buckets, one bucket after the other. All members of a
    group have the same number; each connection of a client that has no group, or several, has its own. The number is
    that of the reader's first connection (conn_keys). connections: with client_ip, by the directory of a bucket's
    spill."""
    numbers = [conn_keys(np.arange(each.num_rows), k, len(connections)) for k, each in enumerate(connections.values())]
    found = np.concatenate([np.empty(0, np.int64), *numbers])
    consumers, members = (_rows_of(connections, name) for name in (CONSUMERS, GROUP_CLIENTS))
    consumer, member = _client_numbers(consumers, members)
    groups = members["group_id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    group = _only_groups(member, groups, consumer)
    conn = consumers["conn"].to_numpy()[group != _NO_GROUP]
    group = group[group != _NO_GROUP]
    first = np.full(int(group.max(initial=_NO_GROUP)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, group, found[conn])
    found[conn] = first[group]
    return found


def conn_keys(conn: NDArray[np.int64], bucket: int, n_buckets: int) -> NDArray[np.int64]:
    """Returns numbers of connections of all buckets that do not change when connections are added. conn: numbers in the
    bucket of number `bucket`, of n_buckets."""
    return conn * n_buckets + bucket


def _rows_of(connections: Mapping[Path, pa.Table], name: str) -> pa.Table:
    """Returns a spilled table of all buckets, with numbers of connections that count over the buckets, and with
    client_ip."""
    parts, n_before = [_NO_ROWS], 0
    for spill, known in connections.items():
        for rows in read_spill(spill, name):
            columns = {
                "conn": pc.add(rows["conn"], n_before),
                "client_ip": known["client_ip"].take(rows["conn"]).fill_null(""),
                "client_id": rows["client_id"].cast(pa.string()).fill_null(""),
            }
            if "group_id" in rows.column_names:
                columns["group_id"] = rows["group_id"].cast(pa.string())
            parts.append(pa.table(columns))
        n_before += known.num_rows
    return pa.concat_tables(parts, promote_options="default")


def _client_numbers(*tables: pa.Table) -> list[NDArray[np.int64]]:
    """Returns the number of the client of each row, for each table. Rows of one address with the same client id are of
    one client."""
    rows = pa.concat_tables([table.select(_CLIENT) for table in tables]).combine_chunks()
    ips, ids = (rows[name].combine_chunks().dictionary_encode() for name in _CLIENT)
    codes = ips.indices.to_numpy().astype(np.int64) * len(ids.dictionary) + ids.indices.to_numpy()
    numbers = np.unique(codes, return_inverse=True)[1]
    return np.split(numbers, np.cumsum([table.num_rows for table in tables])[:-1])


def _only_groups(member: NDArray[np.int64], group: NDArray[np.int64], clients: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the group of each of some clients, _NO_GROUP for one that has none, or several. member, group: clients
    with a group of theirs."""
    n = 1 + int(max(member.max(initial=-1), clients.max(initial=-1)))
    least, largest = np.full(n, np.iinfo(np.int64).max), np.full(n, _NO_GROUP)
    np.minimum.at(least, member, group)
    np.maximum.at(largest, member, group)
    return np.where(least == largest, largest, _NO_GROUP)[clients]
